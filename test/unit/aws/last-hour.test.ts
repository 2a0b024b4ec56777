import { CloudWatchClient, GetMetricStatisticsCommand } from '@aws-sdk/client-cloudwatch';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, expect, it } from 'vitest';
import { createLastHour } from '../../../lib/aws/last-hour.ts';

const cloudWatch = mockClient(CloudWatchClient);
afterAll(() => cloudWatch.restore());
const options = { config: { region: 'eu-west-1' }, service: 'Shop-Jobs' };

it('sums up the last hour of a deployment, and asks again only after a minute', async () => {
  let now = 7_200_000;
  const counts: Readonly<Record<string, number>> = { JobsDone: 90, JobsCrashed: 5, JobsReclaimed: 3 };
  cloudWatch.on(GetMetricStatisticsCommand).callsFake(({ MetricName, Statistics }) => ({
    Datapoints: [{ [Statistics[0]]: counts[MetricName] ?? 0 }],
  }));
  const lastHour = createLastHour({ ...options, clock: { now: () => now } });
  expect(await lastHour()).toMatchObject({ done: 90, failed: 0, crashed: 2, reclaimed: 3 });
  expect(cloudWatch.call(0).args[0].input).toMatchObject({
    ...{ Namespace: 'Leasehold', MetricName: 'JobsDone', StartTime: new Date(3_600_000) },
    Dimensions: [{ Name: 'service', Value: 'Shop-Jobs' }],
  });
  const asked = cloudWatch.calls().length;
  now += 59_999;
  await lastHour();
  expect(cloudWatch.calls().length).toBe(asked);
  now += 1;
  await lastHour();
  expect(cloudWatch.calls().length).toBe(2 * asked);
});

it('asks only Lambda where the service is not known, and says nothing where it may not ask', async () => {
  cloudWatch.reset();
  cloudWatch.on(GetMetricStatisticsCommand).resolves({ Datapoints: [{ Sum: 3 }, { Sum: 4 }] });
  const clock = { now: () => 0 };
  const unnamed = createLastHour({ ...options, service: undefined, clock });
  expect(await unnamed()).toMatchObject({ done: undefined, refusedInvocations: 7 });
  cloudWatch.on(GetMetricStatisticsCommand).rejects(new Error('AccessDenied'));
  expect(await createLastHour({ ...options, clock })()).toBeUndefined();
});
