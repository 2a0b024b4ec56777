import type { CloudWatchClientConfig } from '@aws-sdk/client-cloudwatch';
import type { Clock } from '../../protocol/ports.ts';

/** SQS reports once a minute, and CloudWatch lags a few minutes. */
const LOOK_BACK_MS = 600_000;
const TOLD_EVERY_MS = 60_000;

export interface QueueAgeOptions {
  readonly queueUrl: string;
  readonly config: CloudWatchClientConfig;
  readonly clock: Pick<Clock, 'now'>;
}

/** Age of a queue's oldest message, asked at most once a minute because CloudWatch bills per request. */
export function createQueueAge({ queueUrl, config, clock }: QueueAgeOptions) {
  const asked = new Map<string, { readonly at: number; readonly age: Promise<number | undefined> }>();
  return async (url = queueUrl): Promise<number | undefined> => {
    // An SQS emulator has no CloudWatch.
    if (!isOnAws(url) && config.endpoint === undefined) return undefined;
    const now = clock.now();
    const last = asked.get(url);
    if (last !== undefined && now - last.at < TOLD_EVERY_MS) return last.age;
    const age = askCloudWatch(url, config, now).catch(() => undefined);
    asked.set(url, { at: now, age });
    return age;
  };
}

/** AWS domains differ by partition; emulators use plain HTTP. */
export const isOnAws = (queueUrl: string): boolean => queueUrl.startsWith('https:');

async function askCloudWatch(
  queueUrl: string,
  config: CloudWatchClientConfig,
  now: number,
): Promise<number | undefined> {
  // Rarely needed.
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
    const [latest] = Datapoints.sort((a, b) => Number(b.Timestamp) - Number(a.Timestamp));
    return latest?.Maximum && latest.Maximum * 1000;
  } finally {
    client.destroy();
  }
}
