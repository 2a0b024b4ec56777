import type { Settings } from './settings.ts';

/**
 * A heartbeat moves an index key, which DynamoDB bills as a delete and a put besides the row. With `leaseGrowth` above 0
 * the lease grows with the attempt's age, so an old job sends fewer heartbeats, and the time to notice its crash stays that share
 * of the work that the crash puts at risk.
 */
export type LeaseGrowth = Pick<Settings, 'leaseGrowth' | 'leaseGrowthCapMs'>;

/** Heartbeats come up to this share early, so that those of jobs claimed together spread out. */
export const HEART_JITTER = 0.2;

/** A beat without an answer is repeated after this share of the interval, which is a third of the lease at most. */
export const BEAT_REPEATED_AFTER = 0.25;
/** A client gives up a request that gets no answer after 2 s, and asks again a moment later. */
const REQUEST_REPEATED_AFTER_MS = 3000;

/** When an outage is over, the worker of a lease of this length has got through to the store after so long at the latest. */
export const longestWaitAfterOutage = (leaseMs: number): number =>
  Math.max(REQUEST_REPEATED_AFTER_MS, (leaseMs / 3) * BEAT_REPEATED_AFTER);

/** How long the lease of an attempt of this age is. Never shorter than the job's own lease. */
export const leaseLength = (leaseMs: number, ageMs: number, growth: LeaseGrowth): number =>
  Math.max(leaseMs, Math.floor(Math.min(growth.leaseGrowth * ageMs, growth.leaseGrowthCapMs)));

/** When the last beat of a running entry was sent, read back from where it put the lease's end. */
export function lastBeatAt(
  entry: { readonly leaseUntil: number; readonly leaseMs: number; readonly startedAt?: number },
  growth: LeaseGrowth,
): number {
  const ungrown = entry.leaseUntil - entry.leaseMs;
  if (growth.leaseGrowth === 0 || entry.startedAt === undefined) return ungrown;
  // From leaseUntil = beat + growth × (beat − startedAt), unless the cap or the floor applied.
  const grown = (entry.leaseUntil + growth.leaseGrowth * entry.startedAt) / (1 + growth.leaseGrowth);
  const capped = entry.leaseUntil - Math.max(entry.leaseMs, growth.leaseGrowthCapMs);
  return Math.round(Math.min(ungrown, Math.max(grown, capped)));
}
