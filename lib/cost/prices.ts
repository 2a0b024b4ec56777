/**
 * List prices in US dollars, on demand, without free tiers, discounts or tax. The one place to change them; `leasehold plan
 * --prices FILE` takes a JSON file with the same keys for other regions or contracts.
 */
export const listPrices = {
  region: 'us-east-1',
  asOf: '2026-09',
  /** A write of up to 1 KiB to the table or to one of its indexes. */
  perMillionWriteUnits: 0.625,
  /** A consistent read of up to 4 KiB, or an eventual one of up to 8. */
  perMillionReadUnits: 0.125,
  perStoredGbMonth: 0.25,
  /** A request of up to 64 KiB to a standard queue; a batch counts as one by its bytes. */
  perMillionQueueRequests: 0.4,
  perMillionInvocations: 0.2,
  /** On arm64. */
  perGbSecond: 0.0000133334,
  perMillionEvents: 1,
  /** EventBridge Scheduler. */
  perMillionSchedules: 1,
  /** CloudWatch Logs, taken in. */
  perLoggedGb: 0.5,
  /** CloudWatch, a month: a metric that an alarm watches, a metric of one's own, a dashboard. */
  perAlarmMetric: 0.1,
  perCustomMetric: 0.3,
  perDashboard: 3,
  /** X-Ray, recorded. */
  perMillionTraces: 5,
  /** DynamoDB, point-in-time recovery. */
  perBackupGbMonth: 0.2,
} as const;

export type Prices = {
  readonly [name in keyof typeof listPrices]: (typeof listPrices)[name] extends string ? string : number;
};

/**
 * What people would pay for in its place: list prices in US dollars for the same region, on demand, as found in public
 * price pages and guides of 2026. Used by docs/cost.md only.
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
  /** RDS for PostgreSQL, db.t4g.small with a standby in a second zone, without storage. */
  perPostgresHour: 0.064,
  /** ElastiCache for Redis OSS, two nodes cache.t4g.small. Long-standing list price; no page of this date was found for it. */
  perRedisHour: 0.064,
} as const;
