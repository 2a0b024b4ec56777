import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { Function as LambdaFunction } from 'aws-cdk-lib/aws-lambda';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { MAX_HINT_DELAY_MS } from '../../wire/queues.ts';
import type { AlarmDefinition, Watched } from './watched.ts';

const MINUTE = Duration.minutes(1);
const FIVE_MINUTES = Duration.minutes(5);
/** CloudWatch may show a claim two minutes later than SQS's metrics. */
const LATE_METRIC_MINUTES = 3;

export const queueStalled = (watched: Watched): AlarmDefinition =>
  watched.functions.worker === undefined ? noneReceived(watched.queue) : noneStarted(watched);

/** Lambda's pollers receive even where no invocation can start. */
export const poolStalled = (queue: IQueue, worker: LambdaFunction | undefined): AlarmDefinition =>
  noneReceived(queue, worker?.metricInvocations({ period: FIVE_MINUTES }));

/**
 * Without concurrency, Lambda hides messages until their visibility timeout
 * (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html), so this counts every undeleted
 * message against claims.
 */
function noneStarted({ metered, queue, settings }: Watched): AlarmDefinition {
  const { functionTimeoutMs, batchWindowMs } = settings;
  const healthyMs = Math.max(functionTimeoutMs + batchWindowMs, MAX_HINT_DELAY_MS);
  const minutes = Math.ceil(healthyMs / MINUTE.toMilliseconds()) + LATE_METRIC_MINUTES;
  return {
    title: 'jobs wait and none is started',
    first: 'doctor',
    description: `Messages have been in the queue for ${minutes} minutes, and no job was started: the worker function is not invoked, or cannot claim.`,
    metric: new MathExpression({
      expression: 'IF(FILL(age, 0) > 0 AND FILL(claimed, 0) == 0, 1, 0)',
      usingMetrics: {
        age: queue.metricApproximateAgeOfOldestMessage({ period: MINUTE, statistic: Stats.MAXIMUM }),
        claimed: metered.metric('JobsClaimed', { period: MINUTE, statistic: Stats.SUM }),
      },
      period: MINUTE,
      label: 'messages wait, no job is started',
    }),
    threshold: 1,
    periods: minutes,
  };
}

/** Containers may not publish metrics to CloudWatch, so only the queue counts. */
const noneReceived = (
  queue: IQueue,
  received: IMetric = queue.metricNumberOfMessagesReceived({ period: FIVE_MINUTES, statistic: Stats.SUM }),
): AlarmDefinition => ({
  title: 'jobs wait and no worker takes them',
  first: 'doctor',
  description: 'Messages have waited for 10 minutes, and none was received.',
  // SQS reports no receives for a queue that is not polled.
  metric: new MathExpression({
    expression: 'IF(FILL(waiting, 0) > 0 AND FILL(received, 0) == 0, 1, 0)',
    usingMetrics: {
      waiting: queue.metricApproximateNumberOfMessagesVisible({
        period: FIVE_MINUTES,
        statistic: Stats.MINIMUM,
      }),
      received,
    },
    period: FIVE_MINUTES,
    label: 'messages wait, none is received',
  }),
  threshold: 1,
  periods: 2,
});
