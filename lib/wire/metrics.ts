export const METRIC_NAMESPACE = 'Leasehold';

/** Separates the metrics of several deployments. */
export const METRIC_DIMENSION = 'service';

/** Alarms must not wait for the end of a 15-minute invocation. */
export const FLUSH_MS = 10_000;

export type MetricUnit = 'Count' | 'Milliseconds';

export const metrics = {
  JobsClaimed: { unit: 'Count', description: 'claims that were granted a lease' },
  JobsDone: { unit: 'Count', description: 'jobs completed by the holder of their lease' },
  JobsRetried: { unit: 'Count', description: 'jobs that will run again after their handler threw' },
  JobsFailed: { unit: 'Count', description: 'jobs that failed for good, for any reason' },
  JobsCancelled: { unit: 'Count', description: 'jobs ended by an operator' },
  JobsReclaimed: { unit: 'Count', description: 'jobs reclaimed after their lease had lapsed' },
  JobsReleased: { unit: 'Count', description: 'jobs that their worker released' },
  JobsParked: { unit: 'Count', description: 'jobs that had to wait for their limit or for a paused type' },
  TypesPaused: {
    unit: 'Count',
    description: 'paused types, while a job waits for one of them or for a limit',
  },
  KeysMissing: { unit: 'Count', description: 'messages without a key of a type that is limited per key' },
  JobsQuarantined: {
    unit: 'Count',
    description: 'jobs that failed because they kept crashing or losing their host',
  },
  JobsRestarted: { unit: 'Count', description: 'jobs started again by the host whose cell died under them' },
  JobsCrashed: { unit: 'Count', description: 'attempts that ended because their cell or their worker died' },
  CellsDied: { unit: 'Count', description: 'cells that died with jobs in them' },
  CellsUnready: { unit: 'Count', description: 'cells that ended before they could run a job' },
  CrashThrottleOn: {
    unit: 'Count',
    description: 'times that a host stopped taking jobs because their cells kept dying',
  },
  HintsSent: { unit: 'Count', description: 'queue messages sent by Leasehold itself' },
  LeasesLost: { unit: 'Count', description: 'attempts that ended because their lease was lost' },
  WritesFenced: { unit: 'Count', description: 'writes of a stale claim that were refused' },
  LateCompletions: { unit: 'Count', description: 'results accepted after the worker had given its lease up' },
  MessagesRejected: {
    unit: 'Count',
    description: 'messages stored as failed rows because they cannot be run',
  },
  TicksLate: { unit: 'Count', description: 'ticks of schedules that came too late and made no job' },
  StoreFailures: {
    unit: 'Count',
    description:
      'requests to the table, and hints to the queue, that failed after the SDK’s own retries, and rows of a newer version',
  },
  RequestsThrottled: {
    unit: 'Count',
    description: 'requests that DynamoDB refused for load, the SDK’s own retries among them',
  },
  MessagesForwarded: {
    unit: 'Count',
    description: 'messages that their worker sent on, because another pool or a newer worker runs their type',
  },
  MessagesReturned: { unit: 'Count', description: 'messages that went back to the queue unclaimed' },
  RowsTooNew: { unit: 'Count', description: 'meetings with rows of a newer version, which were left alone' },
  ReclaimDelay: {
    unit: 'Milliseconds',
    description: 'time from the end of a lease to the reclaim of its job',
  },
  ReaperLate: {
    unit: 'Count',
    description: 'sweeps that came more than 5 s after they were promised, and reclaims beyond the bound',
  },
  SweepDuration: { unit: 'Milliseconds', description: 'time that a sweep took that the schedule started' },
  LeasesLive: { unit: 'Count', description: 'running jobs whose lease is live' },
  OldestLapsedLease: {
    unit: 'Milliseconds',
    description: 'age of the oldest lapsed lease that a sweep left behind',
  },
  ClockOffset: {
    unit: 'Milliseconds',
    description: 'offset of a clock against DynamoDB’s, where it is too large to act',
  },
} as const satisfies Record<string, { readonly unit: MetricUnit; readonly description: string }>;

/** Readings of a state: only the latest, or the highest, means something. */
export const stateMetrics: readonly (keyof typeof metrics)[] = [
  'LeasesLive',
  'OldestLapsedLease',
  'ClockOffset',
  'TypesPaused',
];

export const TYPE_DIMENSION = 'type';

/** `RequestsThrottled` by limit and resource, emitted only while there are any: $0.30 a month each. */
export const LIMIT_DIMENSION = 'limit';

/** Emitted only with the setting `metricsByType`, because each type costs extra. */
export const typeMetrics = {
  WaitTime: {
    unit: 'Milliseconds',
    description: 'time from when a job’s message was due to its claim, first attempts only',
  },
  RunTime: { unit: 'Milliseconds', description: 'time from the claim to the end of the run' },
} as const satisfies Record<string, { readonly unit: MetricUnit; readonly description: string }>;

/** By type, emitted only while jobs of the type wait for a limit or for `resume`. */
export const waitingMetrics = {
  JobsWaiting: {
    unit: 'Count',
    description: 'jobs of a type that wait for its limit, or while it is paused',
  },
  OldestWait: { unit: 'Milliseconds', description: 'time for which the first due of these jobs has waited' },
} as const satisfies Record<string, { readonly unit: MetricUnit; readonly description: string }>;

export type WaitingMetricName = keyof typeof waitingMetrics;

export const POOL_DIMENSION = 'pool';

export const poolMetrics = {
  TasksWanted: {
    unit: 'Count',
    description: 'containers that a pool needs for its waiting and running jobs',
  },
} as const satisfies Record<string, { readonly unit: MetricUnit; readonly description: string }>;

export type PoolMetricName = keyof typeof poolMetrics;

export type TypeMetricName = keyof typeof typeMetrics;

export type MetricName = keyof typeof metrics;
