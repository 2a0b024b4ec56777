import {
  CreateQueueCommand,
  GetQueueUrlCommand,
  ListQueuesCommand,
  ReceiveMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { isFreePort } from '../../lib/tools/dev/engines/free-port.ts';
import { type SqsEngine, startSqs } from '../../lib/tools/dev/engines/sqs-engine.ts';

describe('the SQS engine', () => {
  let engine: SqsEngine;
  let client: SQSClient;

  beforeEach(async () => {
    engine = await startSqs();
    client = new SQSClient({ endpoint: engine.endpoint, region: 'eu-west-1' });
  });

  afterEach(async () => {
    client.destroy();
    vi.unstubAllEnvs();
    await engine.stop();
  });

  const createQueue = async (name: string, attributes: Record<string, string> = {}) => {
    const { QueueUrl } = await client.send(
      new CreateQueueCommand({ QueueName: name, Attributes: attributes }),
    );
    return QueueUrl;
  };
  const receive = async (url: string | undefined, extra: object = {}) => {
    const input = { QueueUrl: url, WaitTimeSeconds: 2, MaxNumberOfMessages: 10, ...extra };
    return (await client.send(new ReceiveMessageCommand(input))).Messages ?? [];
  };

  it('names its own loopback address in every queue URL', async () => {
    const created = await createQueue('jobs');
    const found = await client.send(new GetQueueUrlCommand({ QueueName: 'jobs' }));
    const listed = await client.send(new ListQueuesCommand({}));
    expect(created).toBe(`http://127.0.0.1:${engine.port}/000000000000/jobs`);
    expect(found.QueueUrl).toBe(created);
    expect(listed.QueueUrls).toEqual([created]);
  });

  it('frees its port when stopped, with a long poll still open', async () => {
    const url = await createQueue('jobs');
    const poll = receive(url, { WaitTimeSeconds: 20 }).catch(() => 'cut off');
    await client.send(new ListQueuesCommand({}));
    await engine.stop();
    await poll;
    expect(await isFreePort(engine.port)).toBe(true);
  });

  it('refuses a port that is taken with an error that names it', async () => {
    await expect(startSqs({ port: engine.port })).rejects.toMatchObject({
      code: 'ENGINE_FAILED',
      message: expect.stringContaining(String(engine.port)),
    });
  });
});
