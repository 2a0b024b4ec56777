export const METRIC_NAMESPACE = 'Leasehold';

/** Separates the metrics of several deployments. */
export const METRIC_DIMENSION = 'service';

/** Alarms must not wait for the end of a 15-minute invocation. */
export const FLUSH_MS = 10_000;

export type MetricUnit = 'Count' | 'Milliseconds';

export const metrics = {
  JobsClaimed: { unit: 'Count', says: 'claims that were granted a lease' },
  JobsDone: { unit: 'Count', says: 'jobs completed by the holder of their lease' },
  JobsRetried: { unit: 'Count', says: 'jobs that will run again after their handler threw' },
  JobsFailed: { unit: 'Count', says: 'jobs that failed for good, for any reason' },
  JobsCancelled: { unit: 'Count', says: 'jobs ended by an operator' },
  JobsReclaimed: { unit: 'Count', says: 'jobs reclaimed after their lease had lapsed' },
  JobsReleased: { unit: 'Count', says: 'jobs that their worker released' },
  JobsParked: { unit: 'Count', says: 'jobs that had to wait for their limit or for a paused type' },
  KeysMissing: { unit: 'Count', says: 'messages without a key of a type that is limited per key' },
  JobsQuarantined: {
    unit: 'Count',
    says: 'jobs that failed because they kept crashing or losing their host',
  },
  JobsRestarted: { unit: 'Count', says: 'jobs started again by the host whose cell died under them' },
  JobsCrashed: { unit: 'Count', says: 'attempts that ended because their cell or their worker died' },
  CellsDied: { unit: 'Count', says: 'cells that died with jobs in them' },
  CellsUnready: { unit: 'Count', says: 'cells that ended before they could run a job' },
  CrashThrottleOn: {
    unit: 'Count',
    says: 'times that a host stopped taking jobs because their cells kept dying',
  },
  HintsSent: { unit: 'Count', says: 'queue messages sent by Leasehold itself' },
  LeasesLost: { unit: 'Count', says: 'attempts that ended because their lease was lost' },
  WritesFenced: { unit: 'Count', says: 'writes of a stale claim that were refused' },
  LateCompletions: { unit: 'Count', says: 'results accepted after the worker had given its lease up' },
  MessagesRejected: { unit: 'Count', says: 'messages stored as failed rows because they cannot be run' },
  TicksLate: { unit: 'Count', says: 'ticks of schedules that came too late and made no job' },
  StoreFailures: {
    unit: 'Count',
    says: 'requests to the table, and hints to the queue, that failed after the SDK’s own retries, and rows of a newer version',
  },
  RequestsThrottled: {
    unit: 'Count',
    says: 'requests that DynamoDB refused for load, the SDK’s own retries among them',
  },
  MessagesForwarded: {
    unit: 'Count',
    says: 'messages that their worker sent on, because another pool or a newer worker runs their type',
  },
  MessagesReturned: { unit: 'Count', says: 'messages that went back to the queue unclaimed' },
  RowsTooNew: { unit: 'Count', says: 'meetings with rows of a newer version, which were left alone' },
  ReclaimDelay: { unit: 'Milliseconds', says: 'time from the end of a lease to the reclaim of its job' },
  ReaperLate: {
    unit: 'Count',
    says: 'sweeps that came more than 5 s after they were promised, and reclaims beyond the bound',
  },
  SweepDuration: { unit: 'Milliseconds', says: 'time that a sweep took that the schedule started' },
  LeasesLive: { unit: 'Count', says: 'running jobs whose lease is live' },
  OldestLapsedLease: {
    unit: 'Milliseconds',
    says: 'age of the oldest lapsed lease that a sweep left behind',
  },
  ClockOffset: {
    unit: 'Milliseconds',
    says: 'offset of a clock against DynamoDB’s, where it is too large to act',
  },
} as const satisfies Record<string, { readonly unit: MetricUnit; readonly says: string }>;

export const TYPE_DIMENSION = 'type';

/** `RequestsThrottled` is also counted by limit and resource, as long as there are any: $0.30 a month each. */
export const LIMIT_DIMENSION = 'limit';

/** Emitted only with the setting `metricsByType`, because each type costs extra. */
export const typeMetrics = {
  WaitTime: {
    unit: 'Milliseconds',
    says: 'time from when a job’s message was due to its claim, first attempts only',
  },
  RunTime: { unit: 'Milliseconds', says: 'time from the claim to the end of the run' },
} as const satisfies Record<string, { readonly unit: MetricUnit; readonly says: string }>;

export const POOL_DIMENSION = 'pool';

export const poolMetrics = {
  TasksWanted: { unit: 'Count', says: 'containers that a pool needs for its waiting and running jobs' },
} as const satisfies Record<string, { readonly unit: MetricUnit; readonly says: string }>;

export type PoolMetricName = keyof typeof poolMetrics;

export type TypeMetricName = keyof typeof typeMetrics;

export type MetricName = keyof typeof metrics;
