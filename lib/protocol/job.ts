import type { JsonValue } from '../wire/message.ts';
import type { TraceContext } from '../wire/trace.ts';
import type { Dispatch } from './decisions/dispatch.ts';
import type { DataName } from './rows/data-pointer.ts';

/** `pending` is leased to the queue, `running` to one claim. `revive` reopens `failed` and `cancelled` jobs. */
export type JobStatus = 'pending' | 'running' | 'done' | 'failed' | 'cancelled';

const UNFINISHED: readonly JobStatus[] = ['pending', 'running'];

/** `crashed`: the cell died. `lapsed`: the host died or was cut off. */
export type ClaimEnd =
  | 'done'
  | 'retried'
  | 'failed'
  | 'released'
  | 'takenBack'
  | 'parked'
  | 'cancelled'
  | 'lapsed'
  | 'crashed';

export interface PastClaim {
  readonly attempt: number;
  readonly owner: string;
  readonly from: number;
  readonly to: number;
  readonly outcome: ClaimEnd;
  readonly cause?: string;
}

export interface OperatorAct {
  readonly act: 'cancel' | 'takeBack' | 'revive';
  readonly by: string;
  readonly at: number;
}

export interface Budgets {
  readonly maxAttempts: number;
  readonly maxCrashes: number;
}

export interface ClaimCounts {
  /** Number of claims; never falls, so it serves as the fencing token. */
  readonly attempt: number;
  readonly errors: number;
  readonly crashes: number;
  /** Leases that ended without a report from the host. */
  readonly lapses: number;
  readonly releases: number;
}

/** A row written without knowing the type lacks them until its first claim. */
export interface TypeLimits extends Budgets {
  readonly leaseMs: number;
}

export interface JobCore extends ClaimCounts {
  readonly jobId: string;
  readonly type: string;
  /** From the message; limits per key use it. */
  readonly key?: string;
  /** Epoch ms. A tick that has not started by then is cancelled. */
  readonly lateAt?: number;
  readonly group?: string;
  readonly leaseShard: string;
  readonly createdAt: number;
  readonly changedBy: string;
  /** JSON text. */
  readonly payload: string;
  readonly checkpoint?: JsonValue;
  readonly checkpointSeq: number;
  readonly progress?: JsonValue;
  readonly lastError?: string;
  readonly cancelRequested: boolean;
  readonly trace?: TraceContext;
  /** Attributes in data rows that were not read or are gone; an error then has only its head. */
  readonly externalFields: readonly DataName[];
  /** Oldest first. */
  readonly claims: readonly PastClaim[];
  /** `acted` counts those that were dropped, too. */
  readonly acts: readonly OperatorAct[];
  readonly acted: number;
}

export interface PendingJob extends JobCore, Partial<TypeLimits> {
  readonly status: 'pending';
  readonly leaseUntil: number;
  readonly notBefore: number;
  readonly dispatches: number;
  readonly leaseOwner?: string;
  /** The limit or pause that a parked job waits for, and since when. */
  readonly waitsFor?: string;
  readonly waitsSince?: number;
}

export interface RunningJob extends JobCore, TypeLimits {
  readonly status: 'running';
  readonly leaseOwner: string;
  readonly leaseUntil: number;
  readonly startedAt: number;
  readonly heartbeatAt: number;
  /** Undefined unless the claim itself read the job. */
  readonly rowAtClaim?: RowAtClaim;
}

interface Finished extends JobCore {
  readonly finishedAt: number;
  /** Epoch seconds, for TTL. */
  readonly expiresAt: number;
  readonly leaseOwner?: string;
  readonly startedAt?: number;
  /** When a job that never ran was due. */
  readonly notBefore?: number;
}

interface DoneJob extends Finished, TypeLimits {
  readonly status: 'done';
  readonly result?: JsonValue;
}

export interface FailedJob extends Finished, TypeLimits {
  readonly status: 'failed';
  readonly rawMessage?: { readonly text: string; readonly bytes: number; readonly sha256: string };
}

interface CancelledJob extends Finished, Partial<TypeLimits> {
  readonly status: 'cancelled';
}

export type UnfinishedJob = PendingJob | RunningJob;
export type FinishedJob = DoneJob | FailedJob | CancelledJob;
export type Job = UnfinishedJob | FinishedJob;

interface EntryCore
  extends ClaimCounts,
    Pick<JobCore, 'jobId' | 'type' | 'key' | 'group' | 'leaseShard' | 'cancelRequested'> {
  readonly leaseUntil: number;
  readonly leaseOwner?: string;
  readonly startedAt?: number;
  readonly notBefore: number;
  readonly dispatches: number;
}

interface PendingEntry extends EntryCore, Partial<TypeLimits> {
  readonly status: 'pending';
  readonly waitsFor?: string;
}

export interface RunningEntry extends EntryCore, TypeLimits {
  readonly status: 'running';
}

/** An entry of the `byLease` index, from which alone the reaper decides. */
export type LeaseEntry = PendingEntry | RunningEntry;

/** Decides inline storage and detects progress. */
export interface RowAtClaim {
  readonly createdAt: number;
  readonly bytes: number;
  readonly checkpoint?: string;
  readonly checkpointBytes: number;
  readonly progressBytes: number;
  readonly pointsTo: { readonly checkpoint?: string; readonly progress?: string };
  readonly crashes: number;
  readonly lapses: number;
  readonly releases: number;
}

export interface Claim {
  readonly jobId: string;
  readonly owner: string;
  readonly attempt: number;
  readonly startedAt: number;
  readonly rowAtClaim?: RowAtClaim;
}

/** How a claim fails for good. Set `crashes` and `releases` if they, not errors, are the reason. */
export interface FailedEnd<Text = string> {
  readonly errors: number;
  readonly crashes?: number;
  readonly releases?: number;
  readonly lastError: Text;
}

/** How a claim returns its job to the queue. */
export interface QueuedEnd<Text = string> {
  readonly errors: number;
  readonly releases?: number;
  readonly lastError?: Text;
  readonly dispatch: Dispatch;
}

/** How the claim of a dead cell becomes the next one. */
export interface Restart<Text = string> {
  readonly owner: string;
  readonly leaseMs: number;
  readonly crashes: number;
  readonly releases: number;
  readonly lastError: Text;
  /** Excludes the wait before the restart from the attempt. */
  readonly diedAt: number;
}

export const claimOf = (job: RunningJob): Claim => ({
  jobId: job.jobId,
  owner: job.leaseOwner,
  attempt: job.attempt,
  startedAt: job.startedAt,
  rowAtClaim: job.rowAtClaim,
});

export const leaseEntryOf = (job: UnfinishedJob): LeaseEntry => ({ notBefore: 0, dispatches: 0, ...job });

export const isFinished = (job: Job): job is FinishedJob => !UNFINISHED.includes(job.status);

export const LEASE_EXPIRED = 'worker lease expired';

/** A job is charged for a death only if it was alone in its process. */
export const crashError = (cause: string, isCharged: boolean): string =>
  `crashed${isCharged ? '' : ', not charged'}: ${cause}`;

const CRASH = /^crashed(, not charged)?: /;
export const isCrash = (error: string | undefined): boolean => CRASH.test(error ?? '');
export const isUncharged = (error: string | undefined): boolean => CRASH.exec(error ?? '')?.[1] !== undefined;
export const causeOfCrash = (error: string): string => error.replace(CRASH, '');
