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
