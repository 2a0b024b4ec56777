import type { CloudWatchClientConfig, MetricDataQuery, MetricStat } from '@aws-sdk/client-cloudwatch';
import type { Clock } from '../protocol/ports.ts';
import { METRIC_DIMENSION, METRIC_NAMESPACE, type MetricName } from '../wire/metrics.ts';

export interface MetricHistoryOptions {
  readonly config: CloudWatchClientConfig;
  readonly clock: Pick<Clock, 'now'>;
  /** The dimension of the deployment's own metrics; without it only the queue and Lambda are asked. */
  readonly service?: string;
  readonly queueUrl?: string;
}

/** Counts per step, or the highest reading of a step; null where nothing was published. */
export interface MetricHistory {
  readonly from: number;
  readonly lines: Readonly<Record<string, readonly (number | null)[]>>;
}

const own: readonly (readonly [id: string, name: MetricName, stat: 'Sum' | 'Maximum'])[] = [
  ['done', 'JobsDone', 'Sum'],
  ['failed', 'JobsFailed', 'Sum'],
  ['crashed', 'JobsCrashed', 'Sum'],
  ['reclaimed', 'JobsReclaimed', 'Sum'],
  ['throttled', 'RequestsThrottled', 'Sum'],
  ['delayMs', 'ReclaimDelay', 'Maximum'],
  ['running', 'LeasesLive', 'Maximum'],
];
const ofQueue = [
  ['waiting', 'ApproximateNumberOfMessagesVisible'],
  ['ageSeconds', 'ApproximateAgeOfOldestMessage'],
] as const;

/** Asks CloudWatch at most once a minute for each span, because it bills by metric: about $0.005 an hour. */
export function createMetricHistory(options: MetricHistoryOptions) {
  const asked = new Map<number, { readonly at: number; readonly history: Promise<MetricHistory> }>();
  return (ms: number, stepMs: number): Promise<MetricHistory> => {
    const now = options.clock.now();
    const before = asked.get(ms);
    if (before !== undefined && now - before.at < 60_000) return before.history;
    const history = ask(options, now, ms, stepMs);
    asked.set(ms, { at: now, history });
    return history;
  };
}

function queriesOf({ service, queueUrl }: MetricHistoryOptions, stepMs: number): MetricDataQuery[] {
  const query = (Id: string, Stat: string, Metric: MetricStat['Metric']): MetricDataQuery => ({
    Id,
    MetricStat: { Metric, Stat, Period: stepMs / 1000 },
  });
  const Dimensions = [{ Name: METRIC_DIMENSION, Value: service }];
  const queue = [{ Name: 'QueueName', Value: queueUrl && new URL(queueUrl).pathname.split('/').at(-1) }];
  return [
    ...(service === undefined
      ? []
      : own.map(([id, MetricName, stat]) =>
          query(id, stat, { Namespace: METRIC_NAMESPACE, MetricName, Dimensions }),
        )),
    ...(queueUrl === undefined
      ? []
      : ofQueue.map(([id, MetricName]) =>
          query(id, 'Maximum', { Namespace: 'AWS/SQS', MetricName, Dimensions: queue }),
        )),
    query('refused', 'Sum', { Namespace: 'AWS/Lambda', MetricName: 'Throttles' }),
  ];
}

async function ask(
  options: MetricHistoryOptions,
  now: number,
  ms: number,
  stepMs: number,
): Promise<MetricHistory> {
  const { CloudWatchClient, GetMetricDataCommand } = await import('@aws-sdk/client-cloudwatch');
  const client = new CloudWatchClient({ maxAttempts: 2, ...options.config });
  const to = Math.ceil(now / stepMs) * stepMs;
  const from = to - ms;
  try {
    const reply = await client.send(
      new GetMetricDataCommand({
        MetricDataQueries: queriesOf(options, stepMs),
        StartTime: new Date(from),
        EndTime: new Date(to),
      }),
    );
    const steps = ms / stepMs;
    const lines = (reply.MetricDataResults ?? []).map(({ Id = '', Timestamps = [], Values = [] }) => {
      const line = Array.from({ length: steps }, (): number | null => null);
      for (const [i, at] of Timestamps.entries())
        line[Math.floor((at.getTime() - from) / stepMs)] = Values[i] ?? null;
      return [Id, line.slice(0, steps)] as const;
    });
    return { from, lines: Object.fromEntries(lines) };
  } finally {
    client.destroy();
  }
}
