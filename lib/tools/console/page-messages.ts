import type { JobStatus, OperatorAct, PastClaim } from '../../protocol/job.ts';
import type { NextStep } from '../inspect/next-steps.ts';
import type { TimelineEvent } from '../inspect/timeline.ts';
import type { FailureKind, WhyFailed } from '../inspect/why-failed.ts';

/** The messages between the console's server and its page. */

export interface JobSummary {
  readonly jobId: string;
  readonly type: string;
  readonly status: JobStatus;
  readonly attempt: number;
  readonly errors: number;
  readonly crashes: number;
  readonly releases: number;
  /** The last change that was seen; the list is sorted by it. */
  readonly changedAt: number;
  readonly leaseUntil?: number;
  /** The length of a freshly extended lease: a full bar. */
  readonly leaseMs?: number;
  readonly leaseOwner?: string;
  readonly notBefore?: number;
  /** When the last claim began. */
  readonly startedAt?: number;
  readonly finishedAt?: number;
  /** How long the message waited in the queue, if that was seen. */
  readonly waitedMs?: number;
  readonly cancelRequested?: boolean;
  readonly lastError?: string;
  readonly failure?: FailureKind;
  /** From 0 to 1, if the handler's progress can be read as a fraction. */
  readonly progress?: number;
}

/** A process of the local stack, or a lease holder in an account. */
export interface WorkerSummary {
  readonly name: string;
  readonly state: 'starting' | 'idle' | 'busy' | 'paused' | 'gone' | 'stale';
  readonly since: number;
  readonly jobs: readonly string[];
  readonly cells?: readonly { readonly pid: number }[];
  /** Only local processes have one, and can be killed, paused and resumed. */
  readonly pid?: number;
  readonly invocations?: number;
  readonly ending?: string;
}

export interface JobDetail {
  readonly job: JobSummary;
  readonly createdAt: number;
  readonly startedAt?: number;
  readonly heartbeatAt?: number;
  /** All three are absent until the first claim takes them from the job's type. */
  readonly maxAttempts?: number;
  readonly maxCrashes?: number;
  readonly leaseMs?: number;
  readonly dispatches?: number;
  /** JSON, or the raw text of an unreadable message. */
  readonly payload: string;
  readonly checkpoint?: string;
  readonly progress?: string;
  readonly result?: string;
  readonly lastError?: string;
  /** The attempt that left `lastError`, if it was not the last one to end. */
  readonly errorOf?: number;
  readonly failure?: WhyFailed;
  readonly claims: readonly PastClaim[];
  readonly timeline: readonly TimelineEvent[];
  readonly next: readonly NextStep[];
}

export const TOKEN_HEADER = 'x-leasehold-token';
/** Used where headers cannot be set: in the printed link and the stream's URL. */
export const TOKEN_PARAMETER = 'token';

export const jobActions = ['cancel', 'takeBack', 'revive'] as const satisfies readonly OperatorAct['act'][];
export type JobAction = (typeof jobActions)[number];

export const workerActions = ['kill', 'pause', 'resume'] as const;
export type WorkerAction = (typeof workerActions)[number];

export interface Hello {
  readonly now: number;
  readonly tableName: string;
  readonly mode: 'local' | 'account';
  readonly writable: boolean;
  readonly skewMs: number;
  readonly graceMs: number;
  /** Why finished jobs may be missing; absent if the whole table was read. */
  readonly partial?: string;
  /** Why the queue depth is unknown. */
  readonly noQueue?: string;
}

/** A count that may be too low. */
export interface Figure {
  readonly count: number;
  readonly complete: boolean;
}

/** Approximate, as reported by SQS. */
export interface QueueDepth {
  readonly visible: number;
  readonly inFlight: number;
  readonly delayed: number;
}

/** Sent every second, so that silence means a lost connection. */
export interface Figures {
  readonly now: number;
  /** When the table was last read. */
  readonly readAt?: number;
  /** Why reading has failed since. */
  readonly problem?: string;
  readonly counts: Readonly<Record<JobStatus, Figure>>;
  readonly queue?: QueueDepth;
  /** Whether the index has failures that were not read yet. */
  readonly moreFailures: boolean;
}

/** `reset` replaces everything. */
interface JobChanges {
  readonly now: number;
  readonly jobs: readonly JobSummary[];
  readonly gone: readonly string[];
  readonly reset?: boolean;
}

export interface SeriesPoint {
  /** Epoch seconds. */
  readonly second: number;
  readonly done: number;
  /** Both are absent if unchanged. */
  readonly live?: number;
  readonly waiting?: number;
}

export interface ReclaimPoint {
  readonly at: number;
  readonly delayMs: number;
  readonly jobId: string;
}

export interface SeriesChanges {
  readonly points: readonly SeriesPoint[];
  readonly reclaims: readonly ReclaimPoint[];
  readonly reset?: boolean;
}

export interface StreamEvents {
  readonly hello: Hello;
  readonly jobs: JobChanges;
  readonly workers: readonly WorkerSummary[];
  readonly series: SeriesChanges;
  readonly figures: Figures;
}

/** The limit of one bulk request. */
export const MANY_AT_ONCE = 100;

export interface ManyReply extends ActionReply {
  readonly done: number;
  readonly refused: readonly { readonly jobId: string; readonly message: string }[];
}

export interface ActionReply {
  readonly ok: boolean;
  readonly message: string;
}
