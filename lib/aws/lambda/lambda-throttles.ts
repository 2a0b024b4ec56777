import type { CloudWatchClientConfig } from '@aws-sdk/client-cloudwatch';

const HOUR_SECONDS = 3600;

/** Invocations that Lambda refused in the last hour for want of concurrency, of all functions of the account. Undefined where CloudWatch may not be asked. */
export async function lambdaThrottles(
  config: CloudWatchClientConfig,
  now: number,
): Promise<number | undefined> {
  const { CloudWatchClient, GetMetricStatisticsCommand } = await import('@aws-sdk/client-cloudwatch');
  const client = new CloudWatchClient({ maxAttempts: 2, ...config });
  try {
    const { Datapoints = [] } = await client.send(
      new GetMetricStatisticsCommand({
        Namespace: 'AWS/Lambda',
        MetricName: 'Throttles',
        StartTime: new Date(now - HOUR_SECONDS * 1000),
        EndTime: new Date(now),
        Period: HOUR_SECONDS,
        Statistics: ['Sum'],
      }),
    );
    return Datapoints.reduce((sum, { Sum = 0 }) => sum + Sum, 0);
  } catch {
    return undefined;
  } finally {
    client.destroy();
  }
}
