import { createEventOutlet, type EventOutlet } from '../protocol/event-outlet.ts';
import type { LeaseEntry } from '../protocol/job.ts';
import type { ReaperDeps } from './deps.ts';

export interface ShardState {
  /** Nothing in the shard can lapse earlier, so it need not be read. */
  readonly nextCheckAt: number;
  /** Undefined if the last read failed. */
  readonly lookedAt?: number | undefined;
  readonly nextLapseAt?: number;
  /** Undefined if the first page did not hold the whole shard. */
  readonly live?: number | undefined;
  /** Whether the first page shows a job that waits for a limit or a paused type. */
  readonly hasParked?: boolean;
  /** Consecutive reads or writes that failed and are worth retrying. */
  readonly failures: number;
}

/** Lasts for one invocation: the next one reads every shard and retries every row. */
export interface SweepMemory {
  readonly shardStates: Map<string, ShardState>;
  /** Keyed by decision, so a changed row is retried. */
  readonly unmoved: Map<string, 'moved' | 'refused'>;
  readonly unreadable: Set<string>;
  /** Leases that ended earlier may have waited for the rate limit, not for the reaper. */
  overCapUntil: number;
  readonly outlet: EventOutlet;
}

export const createSweepMemory = (deps: Pick<ReaperDeps, 'events' | 'telemetry' | 'clock'>): SweepMemory => ({
  shardStates: new Map(),
  unmoved: new Map(),
  unreadable: new Set(),
  overCapUntil: Number.NEGATIVE_INFINITY,
  outlet: createEventOutlet(deps),
});

/** Everything the verdict depends on: progress can forgive lapses while the lease stays. */
export const decisionKey = (entry: Pick<LeaseEntry, 'jobId' | 'attempt' | 'leaseUntil' | 'lapses'>): string =>
  `${entry.jobId} ${entry.attempt} ${entry.leaseUntil} ${entry.lapses}`;

export const runningShardStates = ({ shardStates }: SweepMemory): ShardState[] =>
  [...shardStates].flatMap(([shard, state]) => (shard.startsWith('r') ? [state] : []));

export const soonest = (moments: readonly (number | undefined)[]): number | undefined =>
  moments.reduce((min, at) => (at === undefined || (min !== undefined && min <= at) ? min : at), undefined);
