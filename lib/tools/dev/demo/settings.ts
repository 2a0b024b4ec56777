/** A tenth of the usual times, so that a killed worker's job comes back while you watch. */
export const demoSettings = {
  leaseMs: 4_000,
  skewMs: 250,
  backoffBaseMs: 500,
  backoffCapMs: 5_000,
  dispatchLeaseMs: 6_000,
  functionTimeoutMs: 90_000,
  deadlineMarginMs: 5_000,
  reaperIntervalMs: 6_000,
  minSweepIntervalMs: 100,
  // Enough for a few workers, and keeps an idle laptop quiet.
  shards: 1,
  maxRunning: 100,
} as const;
