import { createEventOutlet, type EventOutlet } from '../protocol/event-outlet.ts';
import type { LeaseEntry } from '../protocol/job.ts';
import type { BreakerState } from './breaker.ts';
import type { ReaperDeps } from './deps.ts';

/** What a look at one shard told about its future. */
export interface ShardOutlook {
  /** Before this moment nothing in the shard can lapse, so that it need not be read. */
  readonly quietUntil: number;
  /** When the shard was last read; undefined when it could not be. */
  readonly lookedAt?: number | undefined;
  /** When the shard's soonest live lease lapses; undefined when it has none. */
  readonly nextLapseAt?: number;
  /** Live leases, where the first page told them all. */
  readonly live?: number | undefined;
  /** Looks in a row at which the shard could not be read, or a row of it not written for a passing reason. */
  readonly failures: number;
}

/**
 * What a reaper remembers between the sweeps of one invocation. A new invocation starts without, but for the breaker: it
 * looks everywhere and gives every row another chance.
 */
export interface SweepMemory {
  readonly outlooks: Map<string, ShardOutlook>;
  /** Rows that could not be moved, each as it was seen: once it looks different, it is a new matter. */
  readonly unmoved: Map<string, 'moved' | 'refused'>;
  /** Rows that cannot be read. */
  readonly unreadable: Set<string>;
  readonly breaker: BreakerState;
  /** What lapsed, each as it was seen: whose it was, and until when it counts as having lapsed with others. */
  readonly lapses: Map<string, { readonly host: string; readonly until: number }>;
  /** When this reaper got through to the store again after it had been late; a lease that ended by then may have waited for it. */
  lateUntil: number;
  readonly outlet: EventOutlet;
}

export const createSweepMemory = (
  deps: Pick<ReaperDeps, 'events' | 'telemetry' | 'clock'>,
  /** An earlier reaper left lapsed rows behind under its breaker, which stays open for them. */
  breakerOpen = false,
): SweepMemory => ({
  outlooks: new Map(),
  unmoved: new Map(),
  unreadable: new Set(),
  breaker: { open: breakerOpen, heldBack: breakerOpen },
  lapses: new Map(),
  lateUntil: Number.NEGATIVE_INFINITY,
  outlet: createEventOutlet(deps),
});

/** Names an entry together with the lease that was seen. */
export const asSeen = (entry: Pick<LeaseEntry, 'jobId' | 'attempt' | 'leaseUntil'>): string =>
  `${entry.jobId} ${entry.attempt} ${entry.leaseUntil}`;

/** Names an entry with what its reclaim depends on besides: crashes may be forgiven while the lease stays as it is. */
export const asJudged = (entry: Pick<LeaseEntry, 'jobId' | 'attempt' | 'leaseUntil' | 'crashes'>): string =>
  `${asSeen(entry)} ${entry.crashes}`;

/** The outlooks of running shards, or of pending ones. */
export const outlooksOf = (memory: SweepMemory, status: 'running' | 'pending'): ShardOutlook[] =>
  [...memory.outlooks]
    .filter(([shard]) => shard.startsWith(status === 'running' ? 'r' : 'q'))
    .map(([, o]) => o);

/** The soonest of some moments; undefined if there is none. */
export const soonest = (moments: readonly (number | undefined)[]): number | undefined =>
  moments.reduce((min, at) => (at === undefined || (min !== undefined && min <= at) ? min : at), undefined);
