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

const statisticOf = (name: MetricName, unit: MetricUnit): string => {
  if (stateMetrics.includes(name)) return Stats.MAXIMUM;
  return unit === 'Count' ? Stats.SUM : Stats.p(99);
};

/** A construct with Leasehold's metrics: counts as sums, durations as p99, gauges as maxima. */
export abstract class MeteredConstruct extends Construct {
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
}
