/** List prices in US dollars, on demand, without free tiers or tax. `leasehold plan --prices FILE` replaces them. */
export const listPrices = {
  region: 'us-east-1',
  asOf: '2026-09',
  /** Up to 1 KiB, in the table or an index. */
  perMillionWriteUnits: 0.625,
  /** Up to 4 KiB consistent, or 8 KiB eventually consistent. */
  perMillionReadUnits: 0.125,
  perStoredGbMonth: 0.25,
  /** Up to 64 KiB; a batch is billed by its total size. */
  perMillionQueueRequests: 0.4,
  perMillionInvocations: 0.2,
  /** On arm64. */
  perGbSecond: 0.0000133334,
  perMillionEvents: 1,
  perMillionSchedules: 1,
  perLoggedGb: 0.5,
  /** CloudWatch, per month. */
  perAlarmMetric: 0.1,
  perCustomMetric: 0.3,
  perDashboard: 3,
  /** X-Ray. */
  perMillionTraces: 5,
  /** Point-in-time recovery of DynamoDB. */
  perBackupGbMonth: 0.2,
  /** Per zone of a VPC. */
  perEndpointHour: 0.01,
  /** Fargate, with 1 vCPU and 2 GB on x86-64. */
  perContainerHour: 0.04937,
  /** KMS. */
  perKeyMonth: 1,
  perMillionKeyRequests: 3,
} as const;

export type Prices = {
  readonly [name in keyof typeof listPrices]: (typeof listPrices)[name] extends string ? string : number;
};
