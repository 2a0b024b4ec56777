import type { CloudWatchClientConfig, Metric, MetricDataQuery } from '@aws-sdk/client-cloudwatch';

export interface MetricQuestion extends Metric {
  readonly id: string;
  readonly stat: 'Sum' | 'Maximum';
}

export interface Reading {
  readonly at: number;
  readonly value: number;
}

interface Span {
  readonly from: number;
  readonly to: number;
  readonly stepMs: number;
}

/** CloudWatch bills by metric. Steps without data have no reading. */
export async function readMetricData(
  config: CloudWatchClientConfig,
  questions: readonly MetricQuestion[],
  { from, to, stepMs }: Span,
): Promise<ReadonlyMap<string, readonly Reading[]>> {
  // Loaded late, because it is rarely needed.
  const { CloudWatchClient, GetMetricDataCommand } = await import('@aws-sdk/client-cloudwatch');
  const client = new CloudWatchClient({ maxAttempts: 2, ...config });
  const MetricDataQueries = questions.map(
    ({ id, stat, ...metric }): MetricDataQuery => ({
      Id: id,
      MetricStat: { Metric: metric, Stat: stat, Period: stepMs / 1000 },
    }),
  );
  const readings = new Map<string, Reading[]>(questions.map(({ id }) => [id, []]));
  try {
    for (let NextToken: string | undefined; ; ) {
      const page = await client.send(
        new GetMetricDataCommand({
          MetricDataQueries,
          NextToken,
          StartTime: new Date(from),
          EndTime: new Date(to),
        }),
      );
      for (const { Id = '', Timestamps = [], Values = [] } of page.MetricDataResults ?? [])
        for (const [i, at] of Timestamps.entries())
          readings.get(Id)?.push({ at: at.getTime(), value: Values[i] ?? 0 });
      NextToken = page.NextToken;
      if (NextToken === undefined) return readings;
    }
  } finally {
    client.destroy();
  }
}
