import type { CloudWatchClientConfig, Dimension, Statistic } from '@aws-sdk/client-cloudwatch';
import type { Clock } from '../protocol/ports.ts';
import { METRIC_DIMENSION, METRIC_NAMESPACE, type MetricName } from '../wire/metrics.ts';

const HOUR_SECONDS = 3600;
const ASKED_EVERY_MS = 60_000;

interface LastHourOptions {
  /** The value of the metrics' dimension; without it only Lambda is asked. */
  readonly service: string | undefined;
  readonly config: CloudWatchClientConfig;
  readonly clock: Pick<Clock, 'now'>;
}

type LastHour = Awaited<ReturnType<typeof ask>>;

/** What CloudWatch knows of the last hour, asked at most once a minute. Undefined where it may not be asked. */
export function createLastHour(options: LastHourOptions): () => Promise<LastHour | undefined> {
  let asked: { readonly at: number; readonly hour: Promise<LastHour | undefined> } | undefined;
  return () => {
    const now = options.clock.now();
    if (asked === undefined || now - asked.at >= ASKED_EVERY_MS)
      asked = { at: now, hour: ask(options, now).catch(() => undefined) };
    return asked.hour;
  };
}

async function ask({ service, config }: LastHourOptions, now: number) {
  const { CloudWatchClient, GetMetricStatisticsCommand } = await import('@aws-sdk/client-cloudwatch');
  const client = new CloudWatchClient({ maxAttempts: 2, ...config });
  const read = async (Namespace: string, name: string, statistic: Statistic, Dimensions: Dimension[]) => {
    const span = { StartTime: new Date(now - HOUR_SECONDS * 1000), EndTime: new Date(now) };
    const { Datapoints = [] } = await client.send(
      new GetMetricStatisticsCommand({
        ...{ Namespace, MetricName: name, Dimensions, ...span },
        ...{ Period: HOUR_SECONDS, Statistics: [statistic] },
      }),
    );
    const values = Datapoints.map((point) => point[statistic] ?? 0);
    return statistic === 'Sum' ? values.reduce((sum, each) => sum + each, 0) : Math.max(0, ...values);
  };
  const own = async (name: MetricName, statistic: Statistic = 'Sum') =>
    service === undefined
      ? undefined
      : read(METRIC_NAMESPACE, name, statistic, [{ Name: METRIC_DIMENSION, Value: service }]);
  try {
    const [done, failed, died, reclaimed, reclaimDelayMs, throttled, refusedInvocations] = await Promise.all([
      own('JobsDone'),
      own('JobsFailed'),
      own('JobsCrashed'),
      own('JobsReclaimed'),
      own('ReclaimDelay', 'Maximum'),
      own('RequestsThrottled'),
      read('AWS/Lambda', 'Throttles', 'Sum', []),
    ]);
    // The metric counts reclaims as well.
    const crashed = died === undefined ? undefined : Math.max(0, died - (reclaimed ?? 0));
    return { done, failed, crashed, reclaimed, reclaimDelayMs, throttled, refusedInvocations };
  } finally {
    client.destroy();
  }
}
