import type { JobStatus, OperatorAct, PastClaim } from '../../protocol/job.ts';
import type { NextStep } from '../inspect/next-steps.ts';
import type { TimelineEvent } from '../inspect/timeline.ts';
import type { FailureKind, WhyFailed } from '../inspect/why-failed.ts';

/** What travels between the console's server and its page. Both sides compile against this file. */

/** A job as the list shows it. */
export interface JobSummary {
  readonly jobId: string;
  readonly type: string;
  readonly status: JobStatus;
  readonly attempt: number;
  readonly errors: number;
  readonly crashes: number;
  readonly releases: number;
  /** When this last changed, as far as it was seen; the list is sorted by it. */
  readonly changedAt: number;
  readonly leaseUntil?: number;
  /** How long the lease was when it was last extended: what a full bar means. */
  readonly leaseSpanMs?: number;
  readonly leaseOwner?: string;
  readonly notBefore?: number;
  /** When its last claim began. */
  readonly startedAt?: number;
  readonly finishedAt?: number;
  /** How long its message waited in the queue; absent where nobody saw it. */
  readonly waitedMs?: number;
  readonly cancelRequested?: boolean;
  readonly lastError?: string;
  /** Which limit a failed job met. */
  readonly failure?: FailureKind;
  /** A fraction from 0 to 1, where the handler's progress can be read as one. */
  readonly progress?: number;
}

/** A worker: a process of the local stack, or, in an account, whoever holds leases. */
export interface WorkerSummary {
  readonly name: string;
  readonly state: 'starting' | 'idle' | 'busy' | 'paused' | 'gone' | 'stale';
  readonly since: number;
  readonly jobs: readonly string[];
  /** The processes in which its handlers run. */
  readonly cells?: readonly { readonly pid: number }[];
  /** Only a process of the local stack has one, and can be killed, paused and resumed. */
  readonly pid?: number;
  readonly invocations?: number;
  readonly ending?: string;
}

/** Everything known of one job. */
export interface JobDetail {
  readonly job: JobSummary;
  readonly createdAt: number;
  readonly startedAt?: number;
  readonly heartbeatAt?: number;
  readonly maxAttempts: number;
  readonly maxCrashes: number;
  readonly leaseMs: number;
  readonly dispatches?: number;
  /** JSON text, or the raw text of a message that could not be read. */
  readonly payload: string;
  readonly checkpoint?: string;
  readonly progress?: string;
  readonly result?: string;
  readonly lastError?: string;
  readonly failure?: WhyFailed;
  readonly claims: readonly PastClaim[];
  readonly timeline: readonly TimelineEvent[];
  readonly next: readonly NextStep[];
}

/** The header that carries the token with each request. */
export const TOKEN_HEADER = 'x-leasehold-token';
/** Where a header cannot be set: in the link that is printed, and in the stream's address. */
export const TOKEN_PARAMETER = 'token';

/** What can be done to a job from the console. */
export const jobActions = ['cancel', 'takeBack', 'revive'] as const satisfies readonly OperatorAct['act'][];
export type JobAction = (typeof jobActions)[number];

export const workerActions = ['kill', 'pause', 'resume'] as const;
export type WorkerAction = (typeof workerActions)[number];

/** The first message on the stream. */
export interface Hello {
  readonly now: number;
  readonly tableName: string;
  readonly mode: 'local' | 'account';
  readonly writable: boolean;
  readonly skewMs: number;
  readonly graceMs: number;
  /** Why finished jobs are not all listed; absent where the whole table was read. */
  readonly partial?: string;
  /** Why the queue's depth is not known; absent where it is. */
  readonly noQueue?: string;
}

/** A number that may be too low: what is beyond was not read. */
export interface Figure {
  readonly count: number;
  readonly complete: boolean;
}

/** What SQS tells of the queue. Its numbers are approximate. */
export interface QueueDepth {
  readonly visible: number;
  readonly inFlight: number;
  readonly delayed: number;
}

/** The system in numbers, and how fresh they are. Sent every second, so that silence means a lost connection. */
export interface Figures {
  readonly now: number;
  /** When the table was last read; undefined before the first time. */
  readonly readAt?: number;
  /** Why it could not be read since. */
  readonly problem?: string;
  readonly counts: Readonly<Record<JobStatus, Figure>>;
  readonly queue?: QueueDepth;
  /** Failures that are in the index and were not read yet. */
  readonly moreFailures: boolean;
}

/** What changed since the message before; `reset` replaces everything. */
interface JobChanges {
  readonly now: number;
  readonly jobs: readonly JobSummary[];
  readonly gone: readonly string[];
  readonly reset?: boolean;
}

/** One second of the plots. */
export interface SeriesPoint {
  /** Epoch seconds. */
  readonly second: number;
  readonly done: number;
  /** Running jobs, and jobs that no worker has; absent where they were as before. */
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

/** The named events of the stream and their data. */
export interface StreamEvents {
  readonly hello: Hello;
  readonly jobs: JobChanges;
  readonly workers: readonly WorkerSummary[];
  readonly series: SeriesChanges;
  readonly figures: Figures;
}

/** The most jobs that one request of many may name. */
export const MANY_AT_ONCE = 100;

/** The answer to an act on many jobs: how many it was done to, and why not to the others. */
export interface ManyReply extends ActionReply {
  readonly done: number;
  readonly refused: readonly { readonly jobId: string; readonly message: string }[];
}

/** The answer to an action. */
export interface ActionReply {
  readonly ok: boolean;
  readonly message: string;
}
