import type { LeaseEntry } from '../protocol/job.ts';

/** Why lapsed entries were left as they are. */
interface Skipped {
  /** The row had moved on: a stale index read, or a rival reaper. */
  readonly moved: number;
  /** The row cannot be read. */
  readonly bad: number;
  /** A newer version wrote the row. */
  readonly newer: number;
  /** The write failed: throttled, or unanswered, or refused as a whole. */
  readonly unwritten: number;
  /** The breaker is open. At least so many. */
  readonly heldBack: number;
  /** It could not be moved earlier in the same invocation. */
  readonly before: number;
  /** The clock was found unsound, or the time was up. */
  readonly stopped: number;
}

/** What one sweep did. */
export interface SweepCounts {
  /** Entries of the index that were read. */
  readonly scanned: number;
  /** Running jobs given to the next worker. */
  readonly reclaimed: number;
  /** Running jobs ended as failed, the quarantined ones among them. */
  readonly failed: number;
  readonly quarantined: number;
  /** Pending jobs hinted again, or for the first time. */
  readonly redispatched: number;
  readonly cancelled: number;
  readonly hintsSent: number;
  /** Hints that the queue did not take: their jobs are hinted again when the queue's lease ends. */
  readonly hintsFailed: number;
  readonly skipped: Skipped;
  /** Shards that could not be read to their end. */
  readonly errors: number;
}

type Counting<T> = { -readonly [key in keyof T]: T[key] extends number ? number : Counting<T[key]> };

/** The counts of a sweep under way. */
export interface SweepTally extends Counting<SweepCounts> {
  /** Lease end of the oldest lapsed entry left behind. */
  oldestLeft?: number;
  /** The first thing that went wrong, for the log. */
  firstError?: Error;
  /** Shards with a row that was not written for a passing reason. */
  readonly unwrittenShards: Set<string>;
}

export const createSweepTally = (): SweepTally => ({
  scanned: 0,
  reclaimed: 0,
  failed: 0,
  quarantined: 0,
  redispatched: 0,
  cancelled: 0,
  hintsSent: 0,
  hintsFailed: 0,
  skipped: { moved: 0, bad: 0, newer: 0, unwritten: 0, heldBack: 0, before: 0, stopped: 0 },
  errors: 0,
  unwrittenShards: new Set(),
});

/** Counts an entry that stays lapsed. */
export function leaveBehind(
  tally: SweepTally,
  why: 'newer' | 'unwritten' | 'heldBack' | 'before' | 'stopped',
  entries: readonly Pick<LeaseEntry, 'leaseUntil'>[],
): void {
  tally.skipped[why] += entries.length;
  for (const { leaseUntil } of entries)
    tally.oldestLeft = Math.min(tally.oldestLeft ?? leaseUntil, leaseUntil);
}

/** How many rows a sweep changed. */
export const changes = (c: SweepCounts): number => c.reclaimed + c.failed + c.redispatched + c.cancelled;
