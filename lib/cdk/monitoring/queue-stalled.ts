import { Duration } from 'aws-cdk-lib';
import { MathExpression, Stats } from 'aws-cdk-lib/aws-cloudwatch';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import { MAX_HINT_DELAY_MS } from '../../wire/queues.ts';
import type { AlarmDefinition, Watched } from './watched.ts';

const MINUTE = Duration.minutes(1);
const FIVE_MINUTES = Duration.minutes(5);
/** A message is polled for, its claim is written within 10 s, and CloudWatch may show it a minute or two later than SQS's own metrics. */
const LATE_METRIC_MINUTES = 3;

/** Whether jobs wait although nobody is busy with them. */
export const queueStalled = (watched: Watched): AlarmDefinition =>
  watched.functions.worker === undefined ? nobodyReceives(watched.queue) : nothingStarts(watched);

/**
 * A worker function that is not invoked writes nothing, and without concurrency its messages are not even visible: Lambda takes
 * them and tries again until their visibility timeout (https://docs.aws.amazon.com/lambda/latest/dg/services-sqs-errorhandling.html).
 * So this asks for any message that is not deleted, and for claims. A healthy system has such a message and no claim for as long
 * as one invocation lasts, or as the delay of a hint.
 */
function nothingStarts({ metered, queue, settings }: Watched): AlarmDefinition {
  const { functionTimeoutMs, batchWindowMs } = settings;
  const healthyMs = Math.max(functionTimeoutMs + batchWindowMs, MAX_HINT_DELAY_MS);
  const minutes = Math.ceil(healthyMs / MINUTE.toMilliseconds()) + LATE_METRIC_MINUTES;
  return {
    title: 'jobs wait and none is started',
    anchor: 'queue-stalled',
    says: `Messages have been in the queue for ${minutes} minutes, and no job was started: the worker function is not invoked, or cannot claim.`,
    metric: new MathExpression({
      expression: 'IF(FILL(age, 0) > 0 AND FILL(claimed, 0) == 0, 1, 0)',
      usingMetrics: {
        age: queue.metricApproximateAgeOfOldestMessage({ period: MINUTE, statistic: Stats.MAXIMUM }),
        claimed: metered.metricJobsClaimed({ period: MINUTE, statistic: Stats.SUM }),
      },
      period: MINUTE,
      label: 'messages wait, no job is started',
    }),
    threshold: 1,
    periods: minutes,
  };
}

/** Containers need not write their metrics where CloudWatch reads them, so only the queue is asked. */
const nobodyReceives = (queue: IQueue): AlarmDefinition => ({
  title: 'jobs wait and nobody takes them',
  anchor: 'queue-stalled',
  says: 'Messages have waited for 10 minutes, and none was received.',
  // SQS reports no number of receptions for a queue that nobody asks.
  metric: new MathExpression({
    expression: 'IF(FILL(waiting, 0) > 0 AND FILL(received, 0) == 0, 1, 0)',
    usingMetrics: {
      waiting: queue.metricApproximateNumberOfMessagesVisible({
        period: FIVE_MINUTES,
        statistic: Stats.MINIMUM,
      }),
      received: queue.metricNumberOfMessagesReceived({ period: FIVE_MINUTES, statistic: Stats.SUM }),
    },
    period: FIVE_MINUTES,
    label: 'messages wait, none is received',
  }),
  threshold: 1,
  periods: 2,
});
