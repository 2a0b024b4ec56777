import { CreateQueueCommand, ReceiveMessageCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sqsClient, sqsEndpoint, uniqueName } from '../support/engines.ts';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { on } from '../support/faults.ts';

describe('a fault proxy before SQS', () => {
  const direct = sqsClient(sqsEndpoint());
  let proxy: FaultProxy;
  let client: ReturnType<typeof sqsClient>;
  let QueueUrl: string | undefined;

  beforeEach(async () => {
    proxy = await startFaultProxy({ target: sqsEndpoint() });
    client = sqsClient(proxy.endpoint, { maxAttempts: 1 });
    const { QueueUrl: url } = await client.send(new CreateQueueCommand({ QueueName: uniqueName('q') }));
    QueueUrl = url;
  });

  afterEach(async () => {
    client.destroy();
    await proxy.stop();
  });

  const bodies = async () => {
    const { Messages } = await direct.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }));
    return (Messages ?? []).map((message) => message.Body).sort();
  };

  it('keeps clients that follow the queue URL on the proxy', () => {
    expect(QueueUrl).toMatch(new RegExp(`^${proxy.endpoint}/`));
  });

  it('applies a send and drops its reply', async () => {
    proxy.use(on('SendMessage', { kind: 'dropReply' }));
    await expect(
      client.send(new SendMessageCommand({ QueueUrl, MessageBody: 'sent' })),
    ).rejects.toMatchObject({
      code: 'ECONNRESET',
    });
    expect(await bodies()).toEqual(['sent']);
  });
});
