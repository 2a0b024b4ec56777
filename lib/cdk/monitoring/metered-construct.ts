import { Metric, type MetricOptions, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import { Construct } from 'constructs';
import {
  METRIC_DIMENSION,
  METRIC_NAMESPACE,
  type MetricName,
  type MetricUnit,
  metrics,
  POOL_DIMENSION,
  type PoolMetricName,
  stateMetrics,
  TYPE_DIMENSION,
  type TypeMetricName,
  type WaitingMetricName,
  waitingMetrics,
} from '../../wire/metrics.ts';

/** A metric without a method fails compilation. */
type MetricMethods = { [name in MetricName as `metric${name}`]: (options?: MetricOptions) => Metric };

const statisticOf = (name: MetricName, unit: MetricUnit): string => {
  if (stateMetrics.includes(name)) return Stats.MAXIMUM;
  return unit === 'Count' ? Stats.SUM : Stats.p(99);
};

/** A construct with Leasehold's metrics: counts as sums, durations as p99, gauges as maxima. */
export abstract class MeteredConstruct extends Construct implements MetricMethods {
  /** The value of the metric dimension `service`. */
  abstract readonly serviceName: string;

  /** Any metric by name. */
  metric(name: MetricName, options: MetricOptions = {}): Metric {
    return new Metric({
      namespace: METRIC_NAMESPACE,
      metricName: name,
      dimensionsMap: { [METRIC_DIMENSION]: this.serviceName },
      statistic: statisticOf(name, metrics[name].unit),
      ...options,
    });
  }

  /** A metric of one pool. */
  metricOfPool(name: PoolMetricName, pool: string, options: MetricOptions = {}): Metric {
    return new Metric({
      namespace: METRIC_NAMESPACE,
      metricName: name,
      dimensionsMap: { [METRIC_DIMENSION]: this.serviceName, [POOL_DIMENSION]: pool },
      statistic: Stats.MAXIMUM,
      ...options,
    });
  }

  /** Waiting jobs of one job type; or its durations, if the prop `metricsByType` is on. */
  metricOfType(name: TypeMetricName | WaitingMetricName, type: string, options: MetricOptions = {}): Metric {
    return new Metric({
      namespace: METRIC_NAMESPACE,
      metricName: name,
      dimensionsMap: { [METRIC_DIMENSION]: this.serviceName, [TYPE_DIMENSION]: type },
      statistic: name in waitingMetrics ? Stats.MAXIMUM : Stats.p(99),
      ...options,
    });
  }

  /** Claims that got a lease. */
  metricJobsClaimed(options?: MetricOptions): Metric {
    return this.metric('JobsClaimed', options);
  }

  /** Jobs completed by their lease holder. */
  metricJobsDone(options?: MetricOptions): Metric {
    return this.metric('JobsDone', options);
  }

  /** Jobs that will run again after their handler threw. */
  metricJobsRetried(options?: MetricOptions): Metric {
    return this.metric('JobsRetried', options);
  }

  /** Jobs that failed for good. */
  metricJobsFailed(options?: MetricOptions): Metric {
    return this.metric('JobsFailed', options);
  }

  /** Jobs that had to wait for their limit or for a paused type. */
  metricJobsParked(options?: MetricOptions): Metric {
    return this.metric('JobsParked', options);
  }

  /** Paused types, while jobs wait. */
  metricTypesPaused(options?: MetricOptions): Metric {
    return this.metric('TypesPaused', options);
  }

  /** Messages without a key of a type that is limited per key. */
  metricKeysMissing(options?: MetricOptions): Metric {
    return this.metric('KeysMissing', options);
  }

  /** Jobs cancelled by an operator. */
  metricJobsCancelled(options?: MetricOptions): Metric {
    return this.metric('JobsCancelled', options);
  }

  /** Jobs reclaimed after their lease lapsed. */
  metricJobsReclaimed(options?: MetricOptions): Metric {
    return this.metric('JobsReclaimed', options);
  }

  /** Jobs released by their worker. */
  metricJobsReleased(options?: MetricOptions): Metric {
    return this.metric('JobsReleased', options);
  }

  /** Jobs that failed by killing their workers. */
  metricJobsQuarantined(options?: MetricOptions): Metric {
    return this.metric('JobsQuarantined', options);
  }

  /** Jobs restarted by the host whose cell died. */
  metricJobsRestarted(options?: MetricOptions): Metric {
    return this.metric('JobsRestarted', options);
  }

  /** Attempts whose cell or worker died. */
  metricJobsCrashed(options?: MetricOptions): Metric {
    return this.metric('JobsCrashed', options);
  }

  /** Requests throttled by DynamoDB, including the SDK's retries. */
  metricRequestsThrottled(options?: MetricOptions): Metric {
    return this.metric('RequestsThrottled', options);
  }

  /** Sweeps more than 5 s late, and reclaims beyond the bound. */
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

  /** Times a host paused because cells kept dying. */
  metricCrashThrottleOn(options?: MetricOptions): Metric {
    return this.metric('CrashThrottleOn', options);
  }

  /** Queue messages sent by Leasehold itself. */
  metricHintsSent(options?: MetricOptions): Metric {
    return this.metric('HintsSent', options);
  }

  /** Attempts that lost their lease. */
  metricLeasesLost(options?: MetricOptions): Metric {
    return this.metric('LeasesLost', options);
  }

  /** Refused writes of stale claims. */
  metricWritesFenced(options?: MetricOptions): Metric {
    return this.metric('WritesFenced', options);
  }

  /** Results accepted after the worker had given up its lease. */
  metricLateCompletions(options?: MetricOptions): Metric {
    return this.metric('LateCompletions', options);
  }

  /** Messages that cannot run, stored as failed rows. */
  metricMessagesRejected(options?: MetricOptions): Metric {
    return this.metric('MessagesRejected', options);
  }

  /** Table requests and queue hints that failed after the SDK's retries, and rows of a newer version. */
  metricStoreFailures(options?: MetricOptions): Metric {
    return this.metric('StoreFailures', options);
  }

  /** Messages sent on to the queue of their type. */
  metricMessagesForwarded(options?: MetricOptions): Metric {
    return this.metric('MessagesForwarded', options);
  }

  /** Messages returned to the queue unclaimed. */
  metricMessagesReturned(options?: MetricOptions): Metric {
    return this.metric('MessagesReturned', options);
  }

  /** Schedule ticks too late to create a job. */
  metricTicksLate(options?: MetricOptions): Metric {
    return this.metric('TicksLate', options);
  }

  /** Encounters with rows of a newer version. */
  metricRowsTooNew(options?: MetricOptions): Metric {
    return this.metric('RowsTooNew', options);
  }

  /** Time from the end of a lease to the reclaim of its job. */
  metricReclaimDelay(options?: MetricOptions): Metric {
    return this.metric('ReclaimDelay', options);
  }

  /** Time that a sweep took that the schedule started. */
  metricSweepDuration(options?: MetricOptions): Metric {
    return this.metric('SweepDuration', options);
  }

  /** Running jobs with a live lease. */
  metricLeasesLive(options?: MetricOptions): Metric {
    return this.metric('LeasesLive', options);
  }

  /** Age of the oldest lapsed lease that a sweep left behind. */
  metricOldestLapsedLease(options?: MetricOptions): Metric {
    return this.metric('OldestLapsedLease', options);
  }

  /** How far this clock is ahead of DynamoDB's. */
  metricClockOffset(options?: MetricOptions): Metric {
    return this.metric('ClockOffset', options);
  }
}
