/** Every metric that Leasehold emits: typed once, used by emitter, alarm, dashboard and `metricXxx()`. */
export const METRIC_NAMESPACE = 'Leasehold';

/** The dimension that tells one deployment's metrics from another's. */
export const METRIC_DIMENSION = 'service';

export type MetricUnit = 'Count' | 'Milliseconds';

export const metrics = {
  JobsClaimed: { unit: 'Count', says: 'claims that were granted a lease' },
  JobsDone: { unit: 'Count', says: 'jobs completed by the holder of their lease' },
  JobsRetried: { unit: 'Count', says: 'jobs that will run again after their handler threw' },
  JobsFailed: { unit: 'Count', says: 'jobs that failed for good, for whatever reason' },
  JobsCancelled: { unit: 'Count', says: 'jobs ended by an operator' },
  JobsReclaimed: { unit: 'Count', says: 'jobs taken back from a worker whose lease lapsed' },
  JobsReleased: { unit: 'Count', says: 'jobs that their worker released' },
  JobsQuarantined: { unit: 'Count', says: 'jobs failed because they kept killing their worker' },
  HintsSent: { unit: 'Count', says: 'queue messages sent by Leasehold itself' },
  LeasesLost: { unit: 'Count', says: 'attempts that ended because their lease was gone' },
  WritesFenced: { unit: 'Count', says: 'writes of a stale claim that were refused' },
  LateCompletions: { unit: 'Count', says: 'results accepted after the worker had given up its lease' },
  MessagesRejected: { unit: 'Count', says: 'messages kept as failed rows because they could not be read' },
  ReclaimDelay: { unit: 'Milliseconds', says: 'time from the end of a lease to the reclaim of its job' },
  SweepDuration: { unit: 'Milliseconds', says: 'time one sweep took' },
  LeasesLive: { unit: 'Count', says: 'running jobs whose lease is live' },
  OldestLapsedLease: {
    unit: 'Milliseconds',
    says: 'age of the oldest lapsed lease that a sweep left behind',
  },
  ClockOffset: { unit: 'Milliseconds', says: 'offset of this clock against DynamoDB’s' },
  BreakerOpen: {
    unit: 'Count',
    says: '1 while so many leases lapse at once that reclaiming is rate-limited',
  },
} as const satisfies Record<string, { readonly unit: MetricUnit; readonly says: string }>;

export type MetricName = keyof typeof metrics;
