import type { CloudWatchClientConfig } from '@aws-sdk/client-cloudwatch';
import type { Clock } from '../../protocol/ports.ts';
import { type MetricQuestion, readMetricData } from '../metric-data.ts';

/** SQS reports once a minute, and CloudWatch lags a few minutes. */
const LOOK_BACK_MS = 600_000;
const TOLD_EVERY_MS = 60_000;

export interface QueueAgeOptions {
  readonly queueUrl: string;
  readonly config: CloudWatchClientConfig;
  readonly clock: Pick<Clock, 'now'>;
}

/** At most one request a minute, because CloudWatch bills per request. */
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
  const age = queueMetric('age', 'ApproximateAgeOfOldestMessage', queueUrl);
  const span = { from: now - LOOK_BACK_MS, to: now, stepMs: 60_000 };
  const readings = (await readMetricData(config, [age], span)).get('age') ?? [];
  const latest = readings.toSorted((a, b) => b.at - a.at)[0]?.value;
  return latest && latest * 1000;
}

export const queueMetric = (id: string, MetricName: string, queueUrl: string): MetricQuestion => ({
  id,
  stat: 'Maximum',
  Namespace: 'AWS/SQS',
  MetricName,
  Dimensions: [{ Name: 'QueueName', Value: new URL(queueUrl).pathname.split('/').at(-1) }],
});
