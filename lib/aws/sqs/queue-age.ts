import type { CloudWatchClientConfig } from '@aws-sdk/client-cloudwatch';
import type { Clock } from '../../protocol/ports.ts';

/** SQS tells it once a minute, and CloudWatch a few minutes later. */
const LOOK_BACK_MS = 600_000;
const TOLD_EVERY_MS = 60_000;

export interface QueueAgeOptions {
  readonly queueUrl: string;
  readonly config: CloudWatchClientConfig;
  readonly clock: Pick<Clock, 'now'>;
}

/**
 * How old the oldest message of a queue is, in milliseconds. SQS tells it to CloudWatch alone, which charges for each look: one a
 * minute at most is made. Undefined where CloudWatch knows nothing of the queue, may not be asked, or has no part in it.
 */
export function createQueueAge({
  queueUrl,
  config,
  clock,
}: QueueAgeOptions): () => Promise<number | undefined> {
  // A stand-in for SQS has no CloudWatch beside it, unless one is named.
  if (!isOnAws(queueUrl) && config.endpoint === undefined) return async () => undefined;
  let asked: { readonly at: number; readonly age: Promise<number | undefined> } | undefined;
  return () => {
    const now = clock.now();
    if (asked === undefined || now - asked.at >= TOLD_EVERY_MS)
      asked = { at: now, age: askCloudWatch(queueUrl, config, now).catch(() => undefined) };
    return asked.age;
  };
}

const isOnAws = (queueUrl: string): boolean =>
  URL.canParse(queueUrl) && /\.amazonaws\.com(\.cn)?$/.test(new URL(queueUrl).hostname);

async function askCloudWatch(
  queueUrl: string,
  config: CloudWatchClientConfig,
  now: number,
): Promise<number | undefined> {
  // Loaded when it is needed, which is seldom.
  const { CloudWatchClient, GetMetricStatisticsCommand } = await import('@aws-sdk/client-cloudwatch');
  const client = new CloudWatchClient({ maxAttempts: 2, ...config });
  try {
    const { Datapoints = [] } = await client.send(
      new GetMetricStatisticsCommand({
        Namespace: 'AWS/SQS',
        MetricName: 'ApproximateAgeOfOldestMessage',
        Dimensions: [{ Name: 'QueueName', Value: new URL(queueUrl).pathname.split('/').at(-1) }],
        StartTime: new Date(now - LOOK_BACK_MS),
        EndTime: new Date(now),
        Period: 60,
        Statistics: ['Maximum'],
      }),
    );
    const told = Datapoints.map(({ Timestamp, Maximum }) => ({
      at: Timestamp?.getTime() ?? 0,
      seconds: Maximum,
    }));
    const seconds = told.sort((a, b) => b.at - a.at)[0]?.seconds;
    return seconds === undefined ? undefined : seconds * 1000;
  } finally {
    client.destroy();
  }
}
