import { CloudWatchClient, GetMetricDataCommand } from '@aws-sdk/client-cloudwatch';
import { GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createQueueAge } from '../../../../lib/aws/sqs/queue-age.ts';
import { unknownJob } from '../../../../lib/client/look-up.ts';
import { createFakeClock } from '../../../../lib/testing/fake-clock.ts';

const queueUrl = 'https://sqs.eu-west-1.amazonaws.com/123456789012/jobs';
const cloudWatch = mockClient(CloudWatchClient);
const MINUTE = 60_000;
const config = { region: 'eu-west-1' };

afterAll(() => cloudWatch.restore());
beforeEach(() => {
  cloudWatch.reset();
  cloudWatch.on(GetMetricDataCommand).resolves({
    MetricDataResults: [
      { Id: 'age', Timestamps: [new Date(2 * MINUTE), new Date(MINUTE)], Values: [754, 9999] },
    ],
  });
});

describe('the age of a queue’s oldest message', () => {
  it('is CloudWatch’s latest reading, requested at most once a minute', async () => {
    const clock = createFakeClock();
    const age = createQueueAge({ queueUrl, config, clock });
    expect([await age(), await age()]).toEqual([754_000, 754_000]);
    await clock.advance(MINUTE - 1);
    await age();
    expect(cloudWatch.calls()).toHaveLength(1);
    await clock.advance(1);
    await age();
    expect(cloudWatch.calls()).toHaveLength(2);
    expect(cloudWatch.call(0).args[0].input).toEqual({
      MetricDataQueries: [
        {
          Id: 'age',
          MetricStat: {
            Metric: {
              Namespace: 'AWS/SQS',
              MetricName: 'ApproximateAgeOfOldestMessage',
              Dimensions: [{ Name: 'QueueName', Value: 'jobs' }],
            },
            ...{ Stat: 'Maximum', Period: 60 },
          },
        },
      ],
      StartTime: new Date(clock.now() - MINUTE - 600_000),
      EndTime: new Date(clock.now() - MINUTE),
    });
  });

  it('is unknown without permission or without data', async () => {
    const age = () => createQueueAge({ queueUrl, config, clock: createFakeClock() })();
    cloudWatch.on(GetMetricDataCommand).resolves({ MetricDataResults: [] });
    expect(await age()).toBeUndefined();
    cloudWatch.on(GetMetricDataCommand).rejects(new Error('AccessDenied'));
    expect(await age()).toBeUndefined();
  });
});

describe('an id without a row', () => {
  const sqs = new SQSClient(config);
  const queues = mockClient(sqs);
  const told = async (visible: number) => {
    queues.on(GetQueueAttributesCommand).resolves({
      Attributes: {
        ApproximateNumberOfMessages: String(visible),
        ApproximateNumberOfMessagesNotVisible: '0',
      },
    });
    const queueAge = createQueueAge({ queueUrl, config, clock: createFakeClock() });
    return unknownJob({ found: { tableName: 'jobs', queueUrl }, sqs, queueAge }, 'order-7');
  };

  it('comes with the depth of the queue and the age of its oldest message', async () => {
    const { queue, message: says } = await told(3);
    expect(queue).toEqual({ visible: 3, inFlight: 0, delayed: 0, oldestAgeMs: 754_000 });
    expect(says).toMatch(
      /not started, or unknown\. In the queue 3 messages wait, .*; the oldest is 12 min 34 s old\./,
    );
  });
});
