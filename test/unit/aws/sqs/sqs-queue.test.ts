import {
  ChangeMessageVisibilityBatchCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createSqsQueue } from '../../../../lib/aws/sqs/sqs-queue.ts';
import { QueueUnavailableError } from '../../../../lib/protocol/errors.ts';
import { createFakeClock } from '../../../../lib/testing/fake-clock.ts';

const queueUrl = 'https://sqs.example/jobs';
const sqs = mockClient(SQSClient);
afterAll(() => sqs.restore());
const queue = createSqsQueue({
  client: new SQSClient({ region: 'eu-west-1' }),
  queueUrl,
  clock: { sleep: async () => {} },
});

const clock = createFakeClock();
const polled = createSqsQueue({ client: new SQSClient({ region: 'eu-west-1' }), queueUrl, clock });

beforeEach(() => {
  sqs.reset();
});

describe('the queue on the wire', () => {
  it('is not waited for longer than a poll may take, and what it brings later goes back', async () => {
    const reply = Promise.withResolvers<object>();
    sqs.on(ReceiveMessageCommand).callsFake(() => reply.promise);
    sqs.on(ChangeMessageVisibilityBatchCommand).resolves({});
    const receiving = polled.receive({ max: 1, waitSeconds: 1 });
    const settled = receiving.then(
      () => 'answered',
      (error: unknown) => error,
    );
    await clock.advance(2999);
    expect(await Promise.race([settled, Promise.resolve('waits')])).toBe('waits');
    await clock.advance(1);
    expect(await settled).toBeInstanceOf(QueueUnavailableError);
    expect(sqs.commandCalls(ChangeMessageVisibilityBatchCommand)).toHaveLength(0);
    reply.resolve({ Messages: [{ MessageId: 'm', ReceiptHandle: 'r', Body: '{}' }] });
    await expect.poll(() => sqs.commandCalls(ChangeMessageVisibilityBatchCommand).length).toBe(1);
    expect(sqs.commandCalls(ChangeMessageVisibilityBatchCommand)[0]?.args[0].input.Entries).toMatchObject([
      { ReceiptHandle: 'r', VisibilityTimeout: 0 },
    ]);
    expect(clock.sleepers).toBe(0);
  });

  it('receives with what a worker needs to know of each message', async () => {
    sqs
      .on(ReceiveMessageCommand)
      .resolves({ Messages: [{}, { MessageId: 'm', ReceiptHandle: 'r', Body: 'b' }] });
    expect(await polled.receive({ max: 11, waitSeconds: 20 })).toEqual([
      { messageId: '', receiptHandle: '', body: '', sentAt: 0, receiveCount: 1 },
      { messageId: 'm', receiptHandle: 'r', body: 'b', sentAt: 0, receiveCount: 1 },
    ]);
    expect(sqs.call(0).args[0].input).toEqual({
      QueueUrl: queueUrl,
      MaxNumberOfMessages: 10,
      WaitTimeSeconds: 20,
      MessageSystemAttributeNames: ['SentTimestamp', 'ApproximateReceiveCount', 'AWSTraceHeader'],
      MessageAttributeNames: ['traceparent'],
    });
  });

  it('carries X-Ray’s header and reads it, which no engine on this machine does', async () => {
    const header = 'Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1';
    sqs.on(SendMessageBatchCommand).resolves({ Successful: [] });
    sqs.on(ReceiveMessageCommand).resolves({ Messages: [{ Attributes: { AWSTraceHeader: header } }] });
    await queue.sendJobs([{ body: 'a', awsTraceHeader: header }, { body: 'b' }]);
    const [first, second] = sqs.commandCalls(SendMessageBatchCommand)[0]?.args[0].input.Entries ?? [];
    expect(first?.MessageSystemAttributes).toEqual({
      AWSTraceHeader: { DataType: 'String', StringValue: header },
    });
    expect(second?.MessageSystemAttributes).toBeUndefined();
    const [received] = await polled.receive({ max: 1, waitSeconds: 0 });
    expect(received?.trace).toEqual({ awsTraceHeader: header, traceparent: undefined });
  });
});
