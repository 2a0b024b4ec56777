import type { LeaseEntry } from '../protocol/job.ts';

const noCounts = () => ({
  scanned: 0,
  reclaimed: 0,
  quarantined: 0,
  redispatched: 0,
  cancelled: 0,
  hintsSent: 0,
  /** Hinted again when the dispatch lease ends. */
  hintsFailed: 0,
  skipped: {
    /** A stale index read, or another reaper was faster. */
    moved: 0,
    bad: 0,
    newer: 0,
    unwritten: 0,
    /** Beyond what one sweep moves; a lower bound. */
    overCap: 0,
    stopped: 0,
  },
  errors: 0,
});

export type SweepCounts = ReturnType<typeof noCounts>;

export interface SweepTally extends SweepCounts {
  oldestLeft?: number;
  firstError?: Error;
  /** Failed writes that a later sweep may repeat with success. */
  toRetry: number;
}

export const createSweepTally = (): SweepTally => ({ ...noCounts(), toRetry: 0 });

/** Entries held back by the rate limit do not make the reaper late. */
export function leaveBehind(
  tally: SweepTally,
  why: 'newer' | 'unwritten' | 'overCap' | 'stopped',
  entries: readonly Pick<LeaseEntry, 'leaseUntil'>[],
): void {
  tally.skipped[why] += entries.length;
  if (why === 'overCap') return;
  for (const { leaseUntil } of entries)
    tally.oldestLeft = Math.min(tally.oldestLeft ?? leaseUntil, leaseUntil);
}

export const COUNTED = {
  reclaim: 'reclaimed',
  quarantine: 'quarantined',
  redispatch: 'redispatched',
  cancel: 'cancelled',
} as const;

export const changes = (counts: SweepCounts): number =>
  Object.values(COUNTED).reduce((sum, kind) => sum + counts[kind], 0);
