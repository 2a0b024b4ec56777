import { defined } from '../wire/defined.ts';
import type { JsonValue } from '../wire/message.ts';
import type { TraceContext } from '../wire/trace.ts';
import type { DataName } from './rows/data-pointer.ts';

/**
 * A job as its row tells it. Five statuses:
 *
 * - `pending`: leased to the queue; a worker's claim moves it on, the reaper sends another hint if the queue lost it.
 * - `running`: leased to one claim of one worker; that claim ends it, or the reaper reclaims it when the lease has lapsed.
 * - `done`, `failed`, `cancelled`: finished. Only an operator's `revive` moves the last two on; TTL removes all three.
 */
export type JobStatus = 'pending' | 'running' | 'done' | 'failed' | 'cancelled';

const UNFINISHED: readonly JobStatus[] = ['pending', 'running'];

/** How a claim ended, as kept in the ring for `explain`. `crashed`: its cell died; `lapsed`: its host did, or was cut off. */
export type ClaimEnd =
  | 'done'
  | 'retried'
  | 'failed'
  | 'released'
  | 'takenBack'
  | 'cancelled'
  | 'lapsed'
  | 'crashed';

export interface PastClaim {
  readonly attempt: number;
  readonly owner: string;
  readonly from: number;
  readonly to: number;
  readonly outcome: ClaimEnd;
  /** What the handler threw, or what its cell died of: the first line, shortened. */
  readonly cause?: string;
}

/** What an operator did to a job, as kept for `explain`. */
export interface OperatorAct {
  readonly act: 'cancel' | 'takeBack' | 'revive';
  /** Who: the actor in `changedBy`. */
  readonly by: string;
  readonly at: number;
}

export interface Budgets {
  readonly maxAttempts: number;
  readonly maxCrashes: number;
}

/** How claims ended so far. */
export interface ClaimCounts {
  /** Number of claims so far; never falls: the fencing token. */
  readonly attempt: number;
  readonly errors: number;
  readonly crashes: number;
  readonly releases: number;
}

export interface JobCore extends ClaimCounts, Budgets {
  readonly jobId: string;
  readonly type: string;
  readonly leaseMs: number;
  readonly leaseShard: string;
  readonly createdAt: number;
  readonly changedBy: string;
  /** The payload as JSON text. */
  readonly payload: string;
  readonly checkpoint?: JsonValue;
  readonly checkpointSeq: number;
  readonly progress?: JsonValue;
  readonly lastError?: string;
  readonly cancelRequested: boolean;
  /** Where the job comes from. */
  readonly trace?: TraceContext;
  /** What is kept in rows of its own and was not read with this one, or is gone. An error then has its beginning only. */
  readonly elsewhere: readonly DataName[];
  /** The last claims, oldest first. */
  readonly claims: readonly PastClaim[];
  /** The last acts of operators, oldest first, and how many there were in all. */
  readonly acts: readonly OperatorAct[];
  readonly acted: number;
}

export interface PendingJob extends JobCore {
  readonly status: 'pending';
  readonly leaseUntil: number;
  readonly notBefore: number;
  readonly dispatches: number;
  readonly leaseOwner?: string;
}

export interface RunningJob extends JobCore {
  readonly status: 'running';
  readonly leaseOwner: string;
  readonly leaseUntil: number;
  readonly startedAt: number;
  readonly heartbeatAt: number;
  /** Undefined where the job was not read by its claim. */
  readonly found?: FoundRow;
}

interface Finished extends JobCore {
  readonly finishedAt: number;
  /** Epoch seconds: DynamoDB deletes the row some time after. */
  readonly expiresAt: number;
  readonly leaseOwner?: string;
  readonly startedAt?: number;
  /** Of a job that ended before it ran: when it was to run. */
  readonly notBefore?: number;
}

interface DoneJob extends Finished {
  readonly status: 'done';
  readonly result?: JsonValue;
}

interface FailedJob extends Finished {
  readonly status: 'failed';
  /** Text of a rejected message, when that is what this row keeps. */
  readonly rawMessage?: { readonly text: string; readonly bytes: number; readonly sha256: string };
}

interface CancelledJob extends Finished {
  readonly status: 'cancelled';
}

export type UnfinishedJob = PendingJob | RunningJob;
export type FinishedJob = DoneJob | FailedJob | CancelledJob;
export type Job = UnfinishedJob | FinishedJob;

/** What the index `byLease` tells of an unfinished job: all that the reaper decides from. */
export interface LeaseEntry extends ClaimCounts, Budgets {
  readonly jobId: string;
  readonly type: string;
  readonly status: 'pending' | 'running';
  readonly leaseShard: string;
  readonly leaseUntil: number;
  readonly leaseMs: number;
  readonly leaseOwner?: string;
  readonly startedAt?: number;
  readonly notBefore: number;
  readonly dispatches: number;
  readonly cancelRequested: boolean;
}

/** What a claim found on its row: by it the store decides what else has room there, and whether there is progress. */
export interface FoundRow {
  /** Of the row without checkpoint and progress. */
  readonly bytes: number;
  readonly checkpoint?: string;
  readonly checkpointBytes: number;
  readonly progressBytes: number;
  readonly crashes: number;
  readonly releases: number;
  /** How often in a row its lapse was nobody's fault. */
  readonly excuses: number;
  /** Data of it could expire before the job is done with it. */
  readonly expiresSoon: boolean;
}

/** The claim that a worker holds: what every one of its writes must name. */
export interface Claim {
  readonly jobId: string;
  readonly owner: string;
  readonly attempt: number;
  readonly startedAt: number;
  readonly found?: FoundRow;
}

export const claimOf = (job: RunningJob): Claim => ({
  jobId: job.jobId,
  owner: job.leaseOwner,
  attempt: job.attempt,
  startedAt: job.startedAt,
  found: job.found,
});

/** What the lease index holds of an unfinished job. */
export const leaseEntryOf = (job: UnfinishedJob): LeaseEntry => ({
  jobId: job.jobId,
  type: job.type,
  status: job.status,
  leaseShard: job.leaseShard,
  leaseUntil: job.leaseUntil,
  leaseMs: job.leaseMs,
  attempt: job.attempt,
  errors: job.errors,
  crashes: job.crashes,
  releases: job.releases,
  maxAttempts: job.maxAttempts,
  maxCrashes: job.maxCrashes,
  notBefore: job.status === 'pending' ? job.notBefore : 0,
  dispatches: job.status === 'pending' ? job.dispatches : 0,
  cancelRequested: job.cancelRequested,
  ...defined({
    leaseOwner: job.leaseOwner,
    startedAt: job.status === 'running' ? job.startedAt : undefined,
  }),
});

export const isFinished = (job: Job): job is FinishedJob => !UNFINISHED.includes(job.status);

/** `lastError` of a job whose worker stopped renewing its lease. */
export const LEASE_EXPIRED = 'worker lease expired';
