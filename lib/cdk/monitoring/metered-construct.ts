import { Metric, type MetricOptions, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import {
  METRIC_DIMENSION,
  METRIC_NAMESPACE,
  type MetricName,
  type MetricUnit,
  metrics,
  TYPE_DIMENSION,
  type TypeMetricName,
} from '../../wire/metrics.ts';

/** One method for each metric of the contract: a metric without one fails compilation. */
type MetricMethods = { [name in MetricName as `metric${name}`]: (options?: MetricOptions) => Metric };

/** Metrics that are a state: the sum of their samples means nothing. */
const states: readonly MetricName[] = ['LeasesLive', 'OldestLapsedLease', 'ClockOffset', 'BreakerOpen'];

const statisticOf = (name: MetricName, unit: MetricUnit): string => {
  if (states.includes(name)) return Stats.MAXIMUM;
  return unit === 'Count' ? Stats.SUM : Stats.p(99);
};

/** A construct with Leasehold's metrics: counts as sums, durations as p99, states as maxima, unless told otherwise. */
export abstract class MeteredConstruct extends Construct implements MetricMethods {
  /** The value of the metrics' dimension. */
  abstract readonly serviceName: string;

  /** Any of the metrics by name. */
  metric(name: MetricName, options: MetricOptions = {}): Metric {
    return new Metric({
      namespace: METRIC_NAMESPACE,
      metricName: name,
      dimensionsMap: { [METRIC_DIMENSION]: this.serviceName },
      statistic: statisticOf(name, metrics[name].unit),
      ...options,
    });
  }

  /** A time of one job type, where the prop `metricsByType` has it measured. */
  metricOfType(name: TypeMetricName, type: string, options: MetricOptions = {}): Metric {
    return new Metric({
      namespace: METRIC_NAMESPACE,
      metricName: name,
      dimensionsMap: { [METRIC_DIMENSION]: this.serviceName, [TYPE_DIMENSION]: type },
      statistic: Stats.p(99),
      ...options,
    });
  }

  /** Claims that were granted a lease. */
  metricJobsClaimed(options?: MetricOptions): Metric {
    return this.metric('JobsClaimed', options);
  }

  /** Jobs completed by the holder of their lease. */
  metricJobsDone(options?: MetricOptions): Metric {
    return this.metric('JobsDone', options);
  }

  /** Jobs that will run again after their handler threw. */
  metricJobsRetried(options?: MetricOptions): Metric {
    return this.metric('JobsRetried', options);
  }

  /** Jobs that failed for good, for any reason. */
  metricJobsFailed(options?: MetricOptions): Metric {
    return this.metric('JobsFailed', options);
  }

  /** Jobs ended by an operator. */
  metricJobsCancelled(options?: MetricOptions): Metric {
    return this.metric('JobsCancelled', options);
  }

  /** Jobs reclaimed after their lease had lapsed. */
  metricJobsReclaimed(options?: MetricOptions): Metric {
    return this.metric('JobsReclaimed', options);
  }

  /** Jobs that their worker released. */
  metricJobsReleased(options?: MetricOptions): Metric {
    return this.metric('JobsReleased', options);
  }

  /** Jobs that failed because they kept killing their worker. */
  metricJobsQuarantined(options?: MetricOptions): Metric {
    return this.metric('JobsQuarantined', options);
  }

  /** Jobs started again by the host whose cell died under them. */
  metricJobsRestarted(options?: MetricOptions): Metric {
    return this.metric('JobsRestarted', options);
  }

  /** Attempts that ended because their cell or their worker died. */
  metricJobsCrashed(options?: MetricOptions): Metric {
    return this.metric('JobsCrashed', options);
  }

  /** Requests that DynamoDB refused for load, the SDK's own retries among them. */
  metricRequestsThrottled(options?: MetricOptions): Metric {
    return this.metric('RequestsThrottled', options);
  }

  /** Sweeps that came more than 5 s after they were promised, and reclaims beyond the bound. */
  metricReaperLate(options?: MetricOptions): Metric {
    return this.metric('ReaperLate', options);
  }

  /** Cells that died with jobs in them. */
  metricCellsDied(options?: MetricOptions): Metric {
    return this.metric('CellsDied', options);
  }

  /** Cells that ended before they could run a job. */
  metricCellsUnready(options?: MetricOptions): Metric {
    return this.metric('CellsUnready', options);
  }

  /** Times that a host stopped taking jobs because their cells kept dying. */
  metricBrakeOn(options?: MetricOptions): Metric {
    return this.metric('BrakeOn', options);
  }

  /** Queue messages sent by Leasehold itself. */
  metricHintsSent(options?: MetricOptions): Metric {
    return this.metric('HintsSent', options);
  }

  /** Attempts that ended because their lease was lost. */
  metricLeasesLost(options?: MetricOptions): Metric {
    return this.metric('LeasesLost', options);
  }

  /** Writes of a stale claim that were refused. */
  metricWritesFenced(options?: MetricOptions): Metric {
    return this.metric('WritesFenced', options);
  }

  /** Results accepted after the worker had given its lease up. */
  metricLateCompletions(options?: MetricOptions): Metric {
    return this.metric('LateCompletions', options);
  }

  /** Messages stored as failed rows because they cannot be run. */
  metricMessagesRejected(options?: MetricOptions): Metric {
    return this.metric('MessagesRejected', options);
  }

  /** Requests to the table, and hints to the queue, that failed after the SDK’s own retries, and rows of a newer version. */
  metricStoreFailures(options?: MetricOptions): Metric {
    return this.metric('StoreFailures', options);
  }

  /** Messages that went back to the queue unclaimed. */
  metricMessagesReturned(options?: MetricOptions): Metric {
    return this.metric('MessagesReturned', options);
  }

  /** Ticks of schedules that came too late and made no job. */
  metricTicksLate(options?: MetricOptions): Metric {
    return this.metric('TicksLate', options);
  }

  /** Meetings with rows of a newer version. */
  metricRowsTooNew(options?: MetricOptions): Metric {
    return this.metric('RowsTooNew', options);
  }

  /** Time from the end of a lease to the reclaim of its job. */
  metricReclaimDelay(options?: MetricOptions): Metric {
    return this.metric('ReclaimDelay', options);
  }

  /** Time one sweep took. */
  metricSweepDuration(options?: MetricOptions): Metric {
    return this.metric('SweepDuration', options);
  }

  /** Running jobs whose lease is live. */
  metricLeasesLive(options?: MetricOptions): Metric {
    return this.metric('LeasesLive', options);
  }

  /** Age of the oldest lapsed lease that a sweep left behind. */
  metricOldestLapsedLease(options?: MetricOptions): Metric {
    return this.metric('OldestLapsedLease', options);
  }

  /** How far this clock is ahead of DynamoDB’s. */
  metricClockOffset(options?: MetricOptions): Metric {
    return this.metric('ClockOffset', options);
  }

  /** 1 while the breaker is open: so many leases lapsed at once that reclaims are rate-limited. */
  metricBreakerOpen(options?: MetricOptions): Metric {
    return this.metric('BreakerOpen', options);
  }
}
