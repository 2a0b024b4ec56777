import { Duration } from 'aws-cdk-lib';
import { ComparisonOperator, MathExpression, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import { reclaimDelayBound } from '../../settings/recovery-bound.ts';
import { byLease } from '../../wire/table.ts';
import { type ThrottleMetric, throttleMetric } from './throttle-metric.ts';
import type { AlarmDefinition, Watched } from './watched.ts';

const FIVE_MINUTES = Duration.minutes(5);

export function moreAlarms({
  metered,
  settings,
  functions,
  table,
}: Watched): Record<string, AlarmDefinition> {
  const perFiveMinutes = { period: FIVE_MINUTES };
  const throttled = (metricName: ThrottleMetric, index?: string) =>
    throttleMetric(table, metricName, index, perFiveMinutes);
  const ofReaper = (metricName: string) =>
    functions.reaper.metric(metricName, { ...perFiveMinutes, statistic: Stats.SUM });
  return {
    ...(functions.worker && workerThrottled(functions.worker)),
    ReaperDropped: {
      title: 'reapers are not started',
      first: 'doctor',
      description:
        'Lambda dropped invocations of the reaper: no concurrency was left, or it mistook the wakes for a runaway loop.',
      metric: new MathExpression({
        expression: 'FILL(late, 0) + FILL(loop, 0)',
        usingMetrics: { late: ofReaper('AsyncEventsDropped'), loop: ofReaper('RecursiveInvocationsDropped') },
        ...perFiveMinutes,
        label: 'dropped',
      }),
      threshold: 1,
      periods: 2,
    },
    ReclaimDelay: {
      title: 'a reclaim was late',
      first: 'doctor --sweep --dry-run',
      description: `A dead worker's job was reclaimed later than ${reclaimDelayBound(settings) / 1000} s after its lease ended, which the settings promise.`,
      metric: metered.metricReclaimDelay({ ...perFiveMinutes, statistic: Stats.MAXIMUM }),
      threshold: reclaimDelayBound(settings),
      comparison: ComparisonOperator.GREATER_THAN_THRESHOLD,
    },
    ReaperErrors: {
      title: 'the reaper function fails',
      first: 'doctor',
      description: 'Two or more invocations of the reaper failed within 5 minutes.',
      metric: functions.reaper.metricErrors(perFiveMinutes),
      threshold: 2,
    },
    TableThrottled: {
      title: 'DynamoDB counts throttles',
      first: 'stats',
      description: 'Reads or writes of the table or its index have been throttled for 10 minutes.',
      metric: new MathExpression({
        expression: 'FILL(tableWrites, 0) + FILL(tableReads, 0) + FILL(indexWrites, 0) + FILL(indexReads, 0)',
        usingMetrics: {
          tableWrites: throttled('WriteThrottleEvents'),
          tableReads: throttled('ReadThrottleEvents'),
          indexWrites: throttled('WriteThrottleEvents', byLease.name),
          indexReads: throttled('ReadThrottleEvents', byLease.name),
        },
        ...perFiveMinutes,
        label: 'throttled requests',
      }),
      threshold: 1,
      periods: 2,
    },
  };
}

const workerThrottled = (worker: LambdaFunction): Record<string, AlarmDefinition> => ({
  WorkerThrottled: {
    title: 'the worker function is not started',
    first: 'doctor',
    description:
      'Lambda has refused invocations of the worker function for 10 minutes: no concurrency is left for it.',
    metric: worker.metricThrottles({ period: FIVE_MINUTES }),
    threshold: 1,
    periods: 2,
  },
});
