import type { CloudWatchClientConfig } from '@aws-sdk/client-cloudwatch';
import type { Clock } from '../protocol/ports.ts';
import { METRIC_DIMENSION, METRIC_NAMESPACE, type MetricName } from '../wire/metrics.ts';
import { type MetricQuestion, readMetricData } from './metric-data.ts';
import { queueMetric } from './sqs/queue-age.ts';

export interface MetricHistoryOptions {
  readonly config: CloudWatchClientConfig;
  readonly clock: Pick<Clock, 'now'>;
  /** The dimension of the deployment's metrics; without it, only the queue and Lambda are read. */
  readonly service?: string;
  readonly queueUrl?: string;
}

type Line = readonly (number | null)[];

/** Counts or highest readings per step; null where nothing was published. */
interface MetricHistory {
  readonly from: number;
  readonly lines: Readonly<Record<string, Line>>;
}

export type ReadMetricHistory = (ms: number, stepMs: number) => Promise<MetricHistory>;

const own: readonly (readonly [id: string, name: MetricName, stat: MetricQuestion['stat']])[] = [
  ['done', 'JobsDone', 'Sum'],
  ['failed', 'JobsFailed', 'Sum'],
  ['died', 'JobsCrashed', 'Sum'],
  ['reclaimed', 'JobsReclaimed', 'Sum'],
  ['throttled', 'RequestsThrottled', 'Sum'],
  ['delayMs', 'ReclaimDelay', 'Maximum'],
  ['running', 'LeasesLive', 'Maximum'],
];

/** Asks CloudWatch at most once a minute for each span, because it bills by metric: about $0.005 an hour. */
export function createMetricHistory(options: MetricHistoryOptions): ReadMetricHistory {
  const asked = new Map<number, { readonly at: number; readonly history: Promise<MetricHistory> }>();
  return (ms, stepMs) => {
    const now = options.clock.now();
    const before = asked.get(ms);
    if (before !== undefined && now - before.at < 60_000) return before.history;
    const history = ask(options, now, ms, stepMs);
    asked.set(ms, { at: now, history });
    return history;
  };
}

function questionsOf({ service, queueUrl }: MetricHistoryOptions): MetricQuestion[] {
  const Dimensions = [{ Name: METRIC_DIMENSION, Value: service }];
  return [
    ...(service === undefined
      ? []
      : own.map(([id, MetricName, stat]) => ({
          id,
          stat,
          Namespace: METRIC_NAMESPACE,
          MetricName,
          Dimensions,
        }))),
    ...(queueUrl === undefined
      ? []
      : [
          queueMetric('waiting', 'ApproximateNumberOfMessagesVisible', queueUrl),
          queueMetric('ageSeconds', 'ApproximateAgeOfOldestMessage', queueUrl),
        ]),
    { id: 'refused', stat: 'Sum', Namespace: 'AWS/Lambda', MetricName: 'Throttles' },
  ];
}

async function ask(
  options: MetricHistoryOptions,
  now: number,
  ms: number,
  stepMs: number,
): Promise<MetricHistory> {
  const to = Math.ceil(now / stepMs) * stepMs;
  const from = to - ms;
  const read = await readMetricData(options.config, questionsOf(options), { from, to, stepMs });
  const lines = Object.fromEntries(
    [...read].map(([id, readings]) => {
      const line = Array.from({ length: ms / stepMs }, (): number | null => null);
      for (const { at, value } of readings) line[Math.floor((at - from) / stepMs)] = value;
      return [id, line.slice(0, ms / stepMs)] as const;
    }),
  );
  // The metric counts reclaims as well.
  const crashed = lines.died?.map((died, i) => died && Math.max(0, died - (lines.reclaimed?.[i] ?? 0)));
  return { from, lines: crashed === undefined ? lines : { ...lines, crashed } };
}
