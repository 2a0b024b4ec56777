import { CloudWatchClient, GetMetricDataCommand } from '@aws-sdk/client-cloudwatch';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createMetricHistory } from '../../../lib/aws/metric-history.ts';

const HOUR = 3_600_000;
const MINUTE = 60_000;
const NOW = 10 * HOUR + 30_000;
const cloudWatch = mockClient(CloudWatchClient);
beforeEach(() => cloudWatch.reset());
afterAll(() => cloudWatch.restore());

const options = {
  config: { region: 'eu-west-1' },
  clock: { now: () => NOW },
  service: 'Shop-Jobs',
  queueUrl: 'https://sqs.eu-west-1.amazonaws.com/123456789012/jobs',
};
const at = (minutesAgo: number) => new Date(10 * HOUR + MINUTE - minutesAgo * MINUTE);

describe('the history of a deployment’s metrics', () => {
  it('is one request for whole steps, the last of which is not over', async () => {
    cloudWatch.on(GetMetricDataCommand).resolves({});
    await createMetricHistory(options)(HOUR, MINUTE);
    const { MetricDataQueries, StartTime, EndTime } = cloudWatch.call(0).args[0].input as never;
    expect([StartTime, EndTime]).toEqual([at(60), at(0)]);
    const own = (Id: string, MetricName: string, Stat = 'Sum') => ({
      Id,
      MetricStat: {
        Metric: {
          ...{ Namespace: 'Leasehold', MetricName },
          Dimensions: [{ Name: 'service', Value: 'Shop-Jobs' }],
        },
        ...{ Stat, Period: 60 },
      },
    });
    const queue = (Id: string, MetricName: string) => ({
      Id,
      MetricStat: {
        Metric: {
          ...{ Namespace: 'AWS/SQS', MetricName },
          Dimensions: [{ Name: 'QueueName', Value: 'jobs' }],
        },
        ...{ Stat: 'Maximum', Period: 60 },
      },
    });
    expect(MetricDataQueries).toEqual([
      own('done', 'JobsDone'),
      own('failed', 'JobsFailed'),
      own('died', 'JobsCrashed'),
      own('reclaimed', 'JobsReclaimed'),
      own('throttled', 'RequestsThrottled'),
      own('delayMs', 'ReclaimDelay', 'Maximum'),
      own('running', 'LeasesLive', 'Maximum'),
      queue('waiting', 'ApproximateNumberOfMessagesVisible'),
      queue('ageSeconds', 'ApproximateAgeOfOldestMessage'),
      {
        Id: 'refused',
        MetricStat: { Metric: { Namespace: 'AWS/Lambda', MetricName: 'Throttles' }, Stat: 'Sum', Period: 60 },
      },
    ]);
  });

  it('has the readings of every page, and gaps where nothing was published', async () => {
    cloudWatch
      .on(GetMetricDataCommand)
      .resolvesOnce({
        MetricDataResults: [
          { Id: 'done', Timestamps: [at(1), at(60)], Values: [7, 3] },
          { Id: 'died', Timestamps: [at(3), at(2)], Values: [5, 1] },
        ],
        NextToken: 'more',
      })
      .resolvesOnce({
        MetricDataResults: [
          { Id: 'done', Timestamps: [at(59)], Values: [4] },
          { Id: 'reclaimed', Timestamps: [at(3)], Values: [3] },
        ],
      });
    const { from, lines } = await createMetricHistory(options)(HOUR, MINUTE);
    expect(from).toBe(at(60).getTime());
    expect(lines.done).toHaveLength(60);
    expect([lines.done?.slice(0, 3), lines.done?.slice(-2)]).toEqual([
      [3, 4, null],
      [null, 7],
    ]);
    // JobsCrashed counts reclaims as well.
    expect(lines.crashed?.slice(-4)).toEqual([null, 2, 1, null]);
    expect(lines.waiting?.every((each) => each === null)).toBe(true);
  });
});
