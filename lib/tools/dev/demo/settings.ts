/**
 * Settings for a laptop: a tenth of the usual times, so that a killed worker's job comes back while you watch. The relations
 * between them are those of a deployment.
 */
export const demoSettings = {
  timeScale: 10,
  leaseMs: 4_000,
  skewMs: 250,
  backoffBaseMs: 500,
  backoffCapMs: 5_000,
  dispatchLeaseMs: 6_000,
  functionTimeoutMs: 90_000,
  deadlineMarginMs: 5_000,
  reaperIntervalMs: 6_000,
  minSweepIntervalMs: 100,
  leaderLeaseMs: 1_500,
  // One reader of two index keys is enough for a handful of workers, and keeps an idle laptop quiet.
  shards: 1,
  maxRunning: 100,
} as const;
