import type { OutputLine } from '../../lib/tools/dev/lambda-host/output-line.ts';
import { METRIC_NAMESPACE } from '../../lib/wire/metrics.ts';
import type { AlarmProperties } from './alarms-of.ts';
import { evaluateMetricMath } from './metric-math.ts';
import { flat } from './support.ts';

/**
 * What CloudWatch makes of metrics, by the alarms of a template: each minute it looks at the last periods, which slide along, and
 * an alarm goes off when all of them breach (https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/alarm-evaluation.html).
 * Times are seconds since something broke; how long metrics take to get there comes on top.
 */
export interface CloudWatch {
  /** A metric of AWS's own, such as `AWS/SQS NumberOfMessagesReceived Queue`. */
  put(metric: string, at: number, value: number): void;
  /** The lines that functions wrote, all at this time. */
  take(lines: readonly OutputLine[], at: number): void;
  /** Which alarms go off, and after how many minutes. */
  wentOff(withinMinutes: number): Record<string, number>;
}

interface Stat {
  readonly metric: string;
  readonly statistic: string;
  readonly period: number;
}

interface Watching {
  readonly stats: Readonly<Record<string, Stat>>;
  readonly expression: string;
  readonly period: number;
}

export function createCloudWatch(alarms: Readonly<Record<string, AlarmProperties>>): CloudWatch {
  const samples = new Map<string, { at: number; value: number }[]>();
  const put: CloudWatch['put'] = (metric, at, value) =>
    void samples.set(metric, [...(samples.get(metric) ?? []), { at, value }]);

  /** Of the period that ends here; undefined where there is no sample. */
  const datapoint = ({ metric, statistic, period }: Stat, end: number): number | undefined => {
    const values = (samples.get(metric) ?? [])
      .filter(({ at }) => at >= end - period && at < end)
      .map(({ value }) => value);
    if (values.length === 0) return undefined;
    switch (statistic) {
      case 'Sum':
        return values.reduce((sum, each) => sum + each, 0);
      case 'SampleCount':
        return values.length;
      case 'Maximum':
        return Math.max(...values);
      case 'Minimum':
        return Math.min(...values);
      default:
        throw new Error(`the statistic ${statistic} is not modelled`);
    }
  };

  const isBreaching = (alarm: AlarmProperties, now: number): boolean => {
    const { stats, expression, period } = watchedBy(alarm);
    const ends = Array.from({ length: alarm.EvaluationPeriods }, (_, i) => now - i * period);
    return ends.every((end) => {
      const value = evaluateMetricMath(expression, (name) => {
        const stat = stats[name];
        if (stat === undefined) throw new Error(`${name} is in no metric of ${alarm.AlarmName}`);
        return datapoint(stat, end);
      });
      // All alarms take missing data for peace.
      return value !== undefined && compare(alarm, value);
    });
  };

  return {
    put,
    take(lines, at) {
      for (const line of lines)
        if (line.kind === 'metrics')
          for (const [name, values] of Object.entries(line.values))
            for (const value of values) put(`${METRIC_NAMESPACE} ${name}`, at, value);
    },
    wentOff(withinMinutes) {
      const off: Record<string, number> = {};
      for (let minute = 1; minute <= withinMinutes; minute++)
        for (const [id, alarm] of Object.entries(alarms))
          if (off[id] === undefined && isBreaching(alarm, minute * 60)) off[id] = minute;
      return off;
    },
  };
}

function compare({ ComparisonOperator, Threshold }: AlarmProperties, value: number): boolean {
  switch (ComparisonOperator) {
    case 'GreaterThanOrEqualToThreshold':
      return value >= Threshold;
    case 'GreaterThanThreshold':
      return value > Threshold;
    case 'LessThanThreshold':
      return value < Threshold;
    default:
      throw new Error(`${ComparisonOperator} is not modelled`);
  }
}

interface MetricQuery {
  readonly Id: string;
  readonly Expression?: string;
  readonly MetricStat?: { readonly Metric: Named; readonly Period: number; readonly Stat: string };
}

interface Named {
  readonly Namespace: string;
  readonly MetricName: string;
  readonly Dimensions?: readonly { readonly Value: unknown }[];
}

function watchedBy(alarm: AlarmProperties): Watching {
  const queries = alarm.Metrics as readonly MetricQuery[] | undefined;
  if (queries === undefined) {
    const stat = { metric: nameOf(alarm), statistic: String(alarm.Statistic), period: alarm.Period };
    return { stats: { m: stat }, expression: 'm', period: alarm.Period };
  }
  const stats = Object.fromEntries(
    queries.flatMap(({ Id, MetricStat }) =>
      MetricStat === undefined
        ? []
        : [
            [
              Id,
              {
                metric: nameOf(MetricStat.Metric),
                statistic: MetricStat.Stat,
                period: MetricStat.Period,
              },
            ],
          ],
    ),
  );
  const expression = queries.find((query) => query.Expression !== undefined)?.Expression ?? '';
  return { stats, expression, period: Object.values(stats)[0]?.period ?? 0 };
}

/** Ours by name alone, for there is one deployment; AWS's also by what they are of. */
const nameOf = ({ Namespace, MetricName, Dimensions = [] }: Named): string => {
  const of = Dimensions.map(({ Value }) => /^<Jobs(\w+?)[0-9A-F]{8}/.exec(String(flat(Value)))?.[1] ?? '');
  return [Namespace, MetricName, ...(Namespace === METRIC_NAMESPACE ? [] : of)].join(' ');
};
