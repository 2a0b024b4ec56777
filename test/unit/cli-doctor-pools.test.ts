import {
  GetQueueAttributesCommand,
  ListDeadLetterSourceQueuesCommand,
  QueueDoesNotExist,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { describeQueue } from '../../lib/aws/sqs/queue-inspection.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { checkPools } from '../../lib/tools/cli/doctor/check-pools.ts';

// The local engine does not know which queues share a dead-letter queue.

const url = (name: string) => `https://sqs.eu-west-1.amazonaws.com/123456789012/${name}`;
const well = {
  ...{ ApproximateNumberOfMessages: '0', ApproximateNumberOfMessagesNotVisible: '0' },
  ...{ VisibilityTimeout: '5400', MessageRetentionPeriod: '345600', MaximumMessageSize: '1048576' },
  RedrivePolicy: JSON.stringify({ deadLetterTargetArn: 'arn:dead', maxReceiveCount: 10 }),
};
const sqs = new SQSClient({ region: 'eu-west-1' });
let mock: ReturnType<typeof mockClient>;

const queues = (attributes: Readonly<Record<string, Record<string, string>>>) => {
  mock.on(GetQueueAttributesCommand).callsFake(async ({ QueueUrl }) => {
    const found = attributes[String(QueueUrl).split('/').at(-1) ?? ''];
    if (found === undefined) throw new QueueDoesNotExist({ message: 'none', $metadata: {} });
    return { Attributes: found };
  });
  const queueUrls = Object.keys(attributes)
    .filter((name) => name !== 'Dead')
    .map(url);
  mock.on(ListDeadLetterSourceQueuesCommand).resolves({ queueUrls });
};
const check = async (...names: readonly string[]) => {
  const pools = Object.fromEntries(
    names.map((name) => [name, { queueUrl: url(name), types: [`${name}-job`] }]),
  );
  const parts = { sqs, settings: defaultSettings, routing: { pool: 'default', pools } };
  const deadLetters = { url: url('Dead'), queue: await describeQueue(sqs, url('Dead')) };
  return checkPools(parts, url('Default'), deadLetters);
};

beforeEach(() => {
  mock = mockClient(sqs);
});
afterEach(() => mock.restore());

const dead = { ...well, MessageRetentionPeriod: '518400' };

it('finds nothing where each pool has its queue', async () => {
  queues({ Dead: dead, Default: well, render: well });
  expect(await check('render')).toEqual([]);
});

it('finds types whose queue does not exist', async () => {
  queues({ Dead: dead, Default: well });
  expect(await check('render')).toMatchObject([
    {
      severity: 'problem',
      message: "LEASEHOLD_POOLS sends render-job to the queue render of pool 'render', which does not exist",
      next: expect.stringContaining('deploy the stack'),
    },
  ]);
});

it('checks a pool’s queue like the only one', async () => {
  queues({ Dead: dead, Default: well, render: { ...well, VisibilityTimeout: '30' } });
  expect(await check('render')).toMatchObject([
    { message: expect.stringMatching(/^pool 'render': the queue's visibility timeout is 30 s/) },
  ]);
});

it('finds messages left in the queue of a removed pool, and ignores empty queues', async () => {
  queues({ Dead: dead, Default: well, Empty: well, Removed: { ...well, ApproximateNumberOfMessages: '3' } });
  expect(await check()).toMatchObject([
    {
      severity: 'problem',
      message: '3 messages left in the queue Removed, which belongs to no pool',
      next: expect.stringContaining('Start DLQ redrive'),
    },
  ]);
});
