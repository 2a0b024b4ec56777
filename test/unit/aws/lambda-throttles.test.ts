import { CloudWatchClient, GetMetricStatisticsCommand } from '@aws-sdk/client-cloudwatch';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, expect, it } from 'vitest';
import { lambdaThrottles } from '../../../lib/aws/lambda/lambda-throttles.ts';

const cloudWatch = mockClient(CloudWatchClient);
afterAll(() => cloudWatch.restore());
const config = { region: 'eu-west-1' };

it('asks for the throttles of all functions in the last hour', async () => {
  cloudWatch.on(GetMetricStatisticsCommand).resolves({ Datapoints: [{ Sum: 3 }, { Sum: 4 }] });
  expect(await lambdaThrottles(config, 7_200_000)).toBe(7);
  expect(cloudWatch.call(0).args[0].input).toMatchObject({
    ...{ Namespace: 'AWS/Lambda', MetricName: 'Throttles', StartTime: new Date(3_600_000) },
  });
  cloudWatch.on(GetMetricStatisticsCommand).rejects(new Error('AccessDenied'));
  expect(await lambdaThrottles(config, 0)).toBeUndefined();
});
