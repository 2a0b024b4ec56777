import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CloudWatchClient,
  DescribeAlarmsCommand,
  GetMetricDataCommand,
} from '@aws-sdk/client-cloudwatch';
import { METRIC_DIMENSION, METRIC_NAMESPACE, type MetricName } from '../lib/wire/metrics.ts';

const POLL_MS = 10_000;
const MINUTE_MS = 60_000;

async function readMetric(
  client: CloudWatchClient,
  service: string,
  MetricName: MetricName,
  Stat: 'Sum' | 'Maximum',
  { from, to }: Window,
): Promise<number | undefined> {
  const Dimensions = [{ Name: METRIC_DIMENSION, Value: service }];
  const Metric = { Namespace: METRIC_NAMESPACE, MetricName, Dimensions };
  const { MetricDataResults = [] } = await client.send(
    new GetMetricDataCommand({
      StartTime: new Date(Math.floor(from / MINUTE_MS) * MINUTE_MS),
      EndTime: new Date(Math.ceil(to / MINUTE_MS) * MINUTE_MS),
      MetricDataQueries: [{ Id: 'm', MetricStat: { Metric, Period: 60, Stat } }],
    }),
  );
  const values = MetricDataResults[0]?.Values ?? [];
  if (values.length === 0) return undefined;
  return Stat === 'Sum' ? values.reduce((sum, each) => sum + each, 0) : Math.max(...values);
}

interface Window {
  readonly from: number;
  readonly to: number;
}

export async function readReclaims(
  client: CloudWatchClient,
  service: string,
  { expected, window, signal }: { expected: number; window: Window; signal: AbortSignal },
): Promise<{ readonly reclaimed: number; readonly longestMs: number }> {
  const end = Date.now() + 10 * MINUTE_MS;
  for (;;) {
    const reclaimed = (await readMetric(client, service, 'JobsReclaimed', 'Sum', window)) ?? 0;
    const longestMs = await readMetric(client, service, 'ReclaimDelay', 'Maximum', window);
    if (reclaimed >= expected && longestMs !== undefined) return { reclaimed, longestMs };
    if (Date.now() > end)
      throw new Error(
        `CloudWatch shows ${reclaimed} of ${expected} reclaims after 10 minutes; ReclaimDelay is ${longestMs ?? 'absent'}`,
      );
    await sleep(POLL_MS, undefined, { signal });
  }
}

export async function untilAlarm(
  client: CloudWatchClient,
  name: string,
  state: 'ALARM' | 'OK',
  { withinMinutes, signal }: { readonly withinMinutes: number; readonly signal: AbortSignal },
): Promise<number> {
  const from = Date.now();
  for (;;) {
    const { MetricAlarms = [] } = await client.send(new DescribeAlarmsCommand({ AlarmNames: [name] }));
    const minutes = (Date.now() - from) / MINUTE_MS;
    if (MetricAlarms[0] === undefined) throw new Error(`there is no alarm '${name}'`);
    if (MetricAlarms[0].StateValue === state) return minutes;
    if (minutes > withinMinutes)
      throw new Error(
        `the alarm '${name}' is ${MetricAlarms[0].StateValue} and not ${state} after ${withinMinutes} minutes: ${MetricAlarms[0].StateReason}`,
      );
    await sleep(POLL_MS, undefined, { signal });
  }
}
