import { Duration } from 'aws-cdk-lib';
import { ComparisonOperator, MathExpression, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { reclaimDelayBound } from '../../settings/recovery-bound.ts';
import type { ResourceProps } from '../props/leasehold-jobs-props.ts';
import { poolStalled, queueStalled } from './queue-stalled.ts';
import type { AlarmDefinition, Watched } from './watched.ts';

const MINUTE = Duration.minutes(1);
const FIVE_MINUTES = Duration.minutes(5);

export type AlarmProps = Pick<
  ResourceProps,
  | 'alarmTopic'
  | 'pageTopic'
  | 'ticketTopic'
  | 'runbookUrl'
  | 'failureAlarmThreshold'
  | 'crashAlarmThreshold'
  | 'reclaimAlarmThreshold'
  | 'storeFailureAlarmThreshold'
  | 'throttleAlarmThreshold'
  | 'returnedAlarmThreshold'
  | 'queueAgeAlarmThreshold'
>;

export const alarmDefinitions = (
  watched: Watched,
  props: AlarmProps,
): Readonly<Record<string, AlarmDefinition>> => ({
  ...jobAlarms(watched, props),
  ...storeAlarms(watched, props),
  ...queueAlarms(watched, props),
  ...poolAlarms(watched, props),
  ...(watched.functions.worker && workerErrors(watched.functions.worker)),
  ...reaperAlarms(watched),
  ...scheduleAlarms(watched),
});

function jobAlarms(
  { metered }: Watched,
  { crashAlarmThreshold = 3, failureAlarmThreshold = 1, reclaimAlarmThreshold = 1 }: AlarmProps,
): Record<string, AlarmDefinition> {
  const perFiveMinutes = { period: FIVE_MINUTES };
  return {
    JobsFailed: {
      title: 'jobs failed',
      first: 'ls --status failed',
      description: `${atLeast(failureAlarmThreshold, 'job')} failed for good within 5 minutes, including quarantined ones.`,
      metric: metered.metric('JobsFailed', perFiveMinutes),
      threshold: failureAlarmThreshold,
    },
    Crashes: {
      title: 'workers or handlers crash',
      first: 'ls --status quarantined',
      description: `${atLeast(crashAlarmThreshold, 'attempt')} ended within 5 minutes because the worker or the process that ran the handler died: out of memory, an exit, an endless loop, a lost machine.`,
      metric: metered.metric('JobsCrashed', perFiveMinutes),
      threshold: crashAlarmThreshold,
    },
    Reclaims: {
      title: 'jobs were reclaimed',
      first: 'stats --workers',
      description: `${atLeast(reclaimAlarmThreshold, 'job')} lost the worker within 5 minutes, and went to the next one when the lease lapsed.`,
      metric: metered.metric('JobsReclaimed', perFiveMinutes),
      threshold: reclaimAlarmThreshold,
    },
  };
}

function storeAlarms({ metered }: Watched, props: AlarmProps): Record<string, AlarmDefinition> {
  const { storeFailureAlarmThreshold = 3, throttleAlarmThreshold = 10, returnedAlarmThreshold = 20 } = props;
  const perFiveMinutes = { period: FIVE_MINUTES };
  return {
    StoreFailures: {
      title: 'the table or the queue cannot be used',
      first: 'doctor',
      pages: true,
      description: `${atLeast(storeFailureAlarmThreshold, 'request')} to the table, or hints to the queue, failed within 5 minutes, after the SDK's own retries: permissions, key, throttling or network. Rows of a newer version count, too.`,
      metric: metered.metric('StoreFailures', perFiveMinutes),
      threshold: storeFailureAlarmThreshold,
    },
    Throttled: {
      title: 'DynamoDB throttles',
      first: 'stats',
      description: `${atLeast(throttleAlarmThreshold, 'request')} of workers and reapers in each 5 minutes were refused for load, for 10 minutes.`,
      metric: metered.metric('RequestsThrottled', perFiveMinutes),
      threshold: throttleAlarmThreshold,
      periods: 2,
    },
    MessagesReturned: {
      title: 'messages go back to the queue',
      first: 'doctor',
      pages: true,
      description: `${atLeast(returnedAlarmThreshold, 'message')} went back to the queue within 5 minutes because no job could be started. Lambda counts such invocations as a success.`,
      metric: metered.metric('MessagesReturned', perFiveMinutes),
      threshold: returnedAlarmThreshold,
    },
  };
}

const queueAge = (
  queue: IQueue,
  { queueAgeAlarmThreshold = Duration.hours(1) }: AlarmProps,
): AlarmDefinition => ({
  title: 'jobs wait too long',
  first: 'stats',
  description: `The oldest message has waited for ${queueAgeAlarmThreshold.toHumanString()} or more.`,
  metric: queue.metricApproximateAgeOfOldestMessage({ period: FIVE_MINUTES, statistic: Stats.MAXIMUM }),
  threshold: queueAgeAlarmThreshold.toSeconds(),
});

function queueAlarms(watched: Watched, props: AlarmProps): Record<string, AlarmDefinition> {
  const { queue, deadLetterQueue } = watched;
  const perFiveMinutes = { period: FIVE_MINUTES };
  return {
    QueueStalled: { ...queueStalled(watched), pages: true },
    // SQS excludes messages received three times, so this catches slow workers, not broken ones.
    // https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-available-cloudwatch-metrics.html
    QueueAge: queueAge(queue, props),
    DeadLetters: {
      title: 'dead letters stay',
      first: 'doctor',
      description:
        'Messages have been in the dead-letter queue for 15 minutes: its consumer does not store them.',
      // SQS reports each metric only while it has such messages.
      metric: new MathExpression({
        expression: 'FILL(waiting, 0) + FILL(taken, 0)',
        usingMetrics: {
          waiting: deadLetterQueue.metricApproximateNumberOfMessagesVisible({
            ...perFiveMinutes,
            statistic: Stats.MINIMUM,
          }),
          taken: deadLetterQueue.metricApproximateNumberOfMessagesNotVisible({
            ...perFiveMinutes,
            statistic: Stats.MINIMUM,
          }),
        },
        ...perFiveMinutes,
        label: 'dead letters',
      }),
      threshold: 1,
      periods: 3,
    },
  };
}

function poolAlarms({ pools }: Watched, props: AlarmProps): Record<string, AlarmDefinition> {
  const definitions = Object.entries(pools).flatMap(([name, { queue, workerFunction }]) => {
    return [
      [`${name}-QueueStalled`, { ...poolStalled(queue, workerFunction), pages: true, pool: name }],
      [`${name}-QueueAge`, { ...queueAge(queue, props), pool: name }],
    ];
  });
  return Object.fromEntries(definitions);
}

const workerErrors = (worker: LambdaFunction): Record<string, AlarmDefinition> => ({
  WorkerErrors: {
    title: 'the worker function fails',
    first: 'doctor',
    pages: true,
    description:
      'An invocation of the worker function failed. Handlers that throw or crash do not show here.',
    metric: worker.metricErrors({ period: FIVE_MINUTES }),
    threshold: 1,
  },
});

function reaperAlarms({ metered, settings, wakeQueue }: Watched): Record<string, AlarmDefinition> {
  const silentMinutes = Math.max(5, (3 * settings.reaperIntervalMs) / MINUTE.toMilliseconds());
  return {
    DeadMan: {
      title: 'the reaper is silent',
      first: 'doctor',
      pages: true,
      description: `The schedule started no sweep for ${silentMinutes} minutes. Unless the reaper's own messages keep it going, jobs of dead workers are not reclaimed and delayed jobs are not started.`,
      // SQS publishes metrics only some time after first use, so a new deployment stays quiet until reapers have run.
      metric: new MathExpression({
        expression: 'IF(queue >= 0, FILL(sweeps, 0))',
        usingMetrics: {
          queue: wakeQueue.metricApproximateNumberOfMessagesVisible({
            period: MINUTE,
            statistic: Stats.MAXIMUM,
          }),
          sweeps: metered.metric('SweepDuration', { statistic: Stats.SAMPLE_COUNT, period: MINUTE }),
        },
        period: MINUTE,
        label: 'sweeps',
      }),
      threshold: 1,
      comparison: ComparisonOperator.LESS_THAN_THRESHOLD,
      periods: silentMinutes,
      // Pausing the reaper is deliberate: the alarm shows it without notifying.
      silent: !settings.reaperEnabled,
    },
    // Covers throttled ticks and dropped wakes: promised sweeps that did not happen.
    ReaperLate: {
      title: 'the reaper is late',
      first: 'doctor',
      description: `Sweeps came later than promised, or jobs of dead workers were reclaimed later than ${reclaimDelayBound(settings) / 1000} s after their lease ended, twice or more in 5 minutes.`,
      metric: metered.metric('ReaperLate', { period: FIVE_MINUTES }),
      threshold: 2,
    },
    ClockUnsound: {
      title: 'a clock is wrong',
      first: 'doctor',
      description: `A worker or reaper refuses to act, because its clock differs from DynamoDB's by more than half of the ${settings.skewMs / 1000} s that clocks may differ.`,
      // Only such a process reports its offset.
      metric: metered.metric('ClockOffset', { period: FIVE_MINUTES, statistic: Stats.SAMPLE_COUNT }),
      threshold: 1,
    },
  };
}

function scheduleAlarms({ scheduleDeadLetterQueue }: Watched): Record<string, AlarmDefinition> {
  if (scheduleDeadLetterQueue === undefined) return {};
  return {
    TicksUndelivered: {
      title: 'recurring jobs are not started',
      first: 'schedules',
      pages: true,
      description: 'A schedule tick could not be sent to the job queue, so its job does not run.',
      metric: scheduleDeadLetterQueue.metricApproximateNumberOfMessagesVisible({
        period: FIVE_MINUTES,
        statistic: Stats.MAXIMUM,
      }),
      threshold: 1,
    },
  };
}

const atLeast = (count: number, what: string): string =>
  count === 1 ? `A ${what}` : `${count} ${what.endsWith('s') ? `${what}es` : `${what}s`} or more`;
