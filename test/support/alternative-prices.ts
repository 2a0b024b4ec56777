/**
 * What people would pay for in its place: list prices in US dollars for the same region, on demand, as found in public
 * price pages and guides of 2026. Used by docs/operating/cost.md only.
 */
export const alternativePrices = {
  region: 'us-east-1',
  asOf: '2026-09',
  /** Step Functions, standard workflows. */
  perMillionStateTransitions: 25,
  /** Step Functions, express workflows: requests, and memory in steps of 64 MB for at least 100 ms. */
  perMillionExpressRequests: 1,
  perExpressGbSecond: 0.00001667,
  /** Lambda durable functions: starts, steps and waits, from the worked examples of the price page. */
  perMillionDurableOperations: 8,
  /** Fargate on arm64, on demand. */
  perFargateCpuHour: 0.03238,
  perFargateGbHour: 0.00356,
  /** RDS for PostgreSQL, db.t4g.small with a standby in a second zone, without storage. */
  perPostgresHour: 0.064,
  /** ElastiCache for Redis OSS, two nodes cache.t4g.small. Long-standing list price; no page of this date was found for it. */
  perRedisHour: 0.064,
} as const;
