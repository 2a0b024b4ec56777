import type { JobStatus, OperatorAct, PastClaim } from '../../protocol/job.ts';
import type { Count, Health } from '../inspect/health.ts';
import type { HealthItem } from '../inspect/health-strip.ts';
import type { NextStep } from '../inspect/next-steps.ts';
import type { Parked } from '../inspect/parked.ts';
import type { TimelineEvent } from '../inspect/timeline.ts';
import type { FailureKind, WhyFailed } from '../inspect/why-failed.ts';

export interface JobSummary {
  readonly jobId: string;
  readonly type: string;
  readonly status: JobStatus;
  readonly attempt: number;
  readonly errors: number;
  readonly crashes: number;
  readonly lapses: number;
  readonly releases: number;
  /** The last change that was seen; the list is sorted by it. */
  readonly changedAt: number;
  readonly leaseUntil?: number;
  /** The length of a freshly extended lease: a full bar. */
  readonly leaseMs?: number;
  readonly leaseOwner?: string;
  readonly notBefore?: number;
  readonly key?: string;
  readonly waitsFor?: string;
  readonly startedAt?: number;
  readonly finishedAt?: number;
  readonly cancelRequested?: boolean;
  readonly lastError?: string;
  readonly failure?: FailureKind;
  /** Known from the index only, which has no errors. */
  readonly isErrorUnread?: boolean;
  readonly progress?: number;
}

/** A process of the local stack, or a lease holder in an account. */
export interface WorkerSummary {
  readonly name: string;
  /** Known for local processes only. @default - the default one */
  readonly pool?: string;
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

export const typeActions = ['pause', 'resume', 'limit'] as const;
export type TypeAction = (typeof typeActions)[number];

export const workerActions = ['kill', 'pause', 'resume'] as const;
export type WorkerAction = (typeof workerActions)[number];

export interface Hello {
  readonly now: number;
  readonly tableName: string;
  readonly mode: 'local' | 'account';
  readonly writable: boolean;
  readonly skewMs: number;
  /** Why finished jobs may be missing; absent if the whole table was read. */
  readonly partial?: string;
  readonly noQueue?: string;
  readonly where?: Where;
  readonly send?: string;
  readonly work?: string;
}

export interface Where {
  readonly service?: string;
  readonly region?: string;
  readonly account?: string;
}

export interface QueueDepth {
  readonly visible: number;
  readonly inFlight: number;
  readonly delayed: number;
}

/** Sent every second, so that silence means a lost connection. */
export interface Figures {
  readonly now: number;
  readonly readAt?: number;
  readonly problem?: string;
  readonly counts: Readonly<Record<JobStatus, Count>>;
  readonly failedByType: Readonly<Record<string, number>>;
  readonly queue?: QueueDepth;
  /** Estimated since the start; absent where reading is free. */
  readonly readUnits?: number;
  readonly parked?: Parked;
  readonly health: Health;
  readonly strip: readonly HealthItem[];
}

interface JobChanges {
  readonly now: number;
  readonly jobs: readonly JobSummary[];
  readonly gone: readonly string[];
  readonly reset?: boolean;
}

export const trendSpans = {
  '1h': { ms: 3_600_000, stepMs: 60_000 },
  '6h': { ms: 21_600_000, stepMs: 300_000 },
  '1d': { ms: 86_400_000, stepMs: 900_000 },
} as const;
export type TrendSpan = keyof typeof trendSpans;

/** The first four are counts per step, the others the highest reading of a step. */
export type TrendLine = 'done' | 'failed' | 'crashed' | 'reclaimed' | 'running' | 'waiting' | 'ageMs';

export interface Trend {
  readonly from: number;
  readonly stepMs: number;
  readonly source: 'memory' | 'CloudWatch';
  readonly since?: number;
  readonly problem?: string;
  readonly lines: Readonly<Partial<Record<TrendLine, readonly (number | null)[]>>>;
}

export interface StreamEvents {
  readonly hello: Hello;
  readonly jobs: JobChanges;
  readonly workers: readonly WorkerSummary[];
  readonly figures: Figures;
}

export interface JobFilter {
  readonly status: JobStatus | 'all' | 'queued';
  readonly search: string;
  readonly type?: string;
  readonly error?: string;
  readonly since?: TimeSpan;
}

export const timeSpans = { '15m': 900_000, '1h': 3_600_000, '24h': 86_400_000, '7d': 604_800_000 } as const;
export type TimeSpan = keyof typeof timeSpans;

export interface ActionReply {
  readonly ok: boolean;
  readonly message: string;
}

export interface MatchingReply extends ActionReply {
  readonly jobIds?: readonly string[];
  /** Absent at the end. */
  readonly cursor?: string;
}
