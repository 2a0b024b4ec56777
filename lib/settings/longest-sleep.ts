import type { Settings } from './settings.ts';

/** A leader looks again while this share of its lead is left. */
const LEAD_KEPT = 0.8;

/**
 * The longest a reaper may go without looking. A claim that the last look did not see cannot lapse sooner than the
 * shortest lease and the skew after it; and a leader must look again before its own lead runs out.
 */
export const longestSleepMs = (s: Pick<Settings, 'minLeaseMs' | 'skewMs' | 'leaderLeaseMs'>): number =>
  Math.min(s.minLeaseMs + s.skewMs, Math.floor(s.leaderLeaseMs * LEAD_KEPT));
