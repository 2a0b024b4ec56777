import { CreateQueueCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/aws/clock.ts';
import { createSqsClient } from '../../lib/aws/sqs/client.ts';
import { createSqsQueue } from '../../lib/aws/sqs/sqs-queue.ts';
import { QueueUnavailableError } from '../../lib/protocol/errors.ts';
import type { JobQueue, ReceivedMessage } from '../../lib/protocol/ports.ts';
import { hintBody, jobBody } from '../../lib/wire/message.ts';
import { local, sqsClient, sqsEndpoint, uniqueName } from '../support/engines.ts';
import { type FaultProxy, startFaultProxy } from '../support/fault-proxy.ts';
import { on } from '../support/faults.ts';

describe('the job queue on SQS', () => {
  let direct: SQSClient;
  let proxy: FaultProxy;
  let client: SQSClient;
  let queue: JobQueue;
  const pauses: number[] = [];
  /** Pauses between sends are only noted; a poll's patience, which ends with its answer, is real. */
  const clock = {
    sleep: async (ms: number, patience?: AbortSignal) =>
      patience === undefined ? void pauses.push(ms) : systemClock.sleep(ms, patience),
  };

  beforeAll(async () => {
    direct = sqsClient(sqsEndpoint());
    proxy = await startFaultProxy({ target: sqsEndpoint() });
    client = createSqsClient({ ...local, endpoint: proxy.endpoint, maxAttempts: 1 });
  });
  afterAll(async () => {
    client.destroy();
    direct.destroy();
    await proxy.stop();
  });
  beforeEach(async () => {
    const { QueueUrl = '' } = await direct.send(new CreateQueueCommand({ QueueName: uniqueName('jobs') }));
    queue = createSqsQueue({ client, queueUrl: QueueUrl, clock });
  });
  afterEach(() => {
    proxy.use();
    proxy.tally.clear();
    pauses.length = 0;
  });

  /** Everything that can be received now. */
  const drain = async (): Promise<ReceivedMessage[]> => {
    const all: ReceivedMessage[] = [];
    for (let page = await queue.receive({ max: 10, waitSeconds: 0 }); page.length > 0; ) {
      all.push(...page);
      page = await queue.receive({ max: 10, waitSeconds: 0 });
    }
    return all;
  };
  const hints = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ jobId: `j${n}`, delaySeconds: 0 }));
  const bodies = (messages: readonly ReceivedMessage[]) => messages.map(({ body }) => body).sort();

  it.each([
    [0, 0],
    [1, 1],
    [10, 1],
    [11, 2],
    [95, 10],
  ])('sends %i hints in %i requests of at most ten', async (count, requests) => {
    expect(await queue.sendHints(hints(count))).toEqual({ sent: count, failed: [] });
    expect(proxy.tally.of('SendMessageBatch').requests).toBe(requests);
    expect(bodies(await drain())).toEqual(
      hints(count)
        .map(({ jobId }) => hintBody({ jobId }))
        .sort(),
    );
  });

  it('sends job messages, and says under which id each travels', async () => {
    const sent = await queue.sendJobs([{ body: jobBody('report', 1) }, { body: jobBody('report', 2) }]);
    const received = await drain();
    expect(sent.map((each) => each.outcome === 'sent' && each.messageId).sort()).toEqual(
      received.map(({ messageId }) => messageId).sort(),
    );
    expect(received[0]).toMatchObject({ receiveCount: 1, receiptHandle: expect.any(String) });
    expect(Math.abs(Number(received[0]?.sentAt) - Date.now())).toBeLessThan(60_000);
  });

  it('sends again only the entries that failed', async () => {
    proxy.use(on('SendMessageBatch', { kind: 'failSome', which: [1, 3], applied: false }, { nth: 1 }));
    expect(await queue.sendHints(hints(5))).toEqual({ sent: 5, failed: [] });
    expect(proxy.tally.of('SendMessageBatch').requests).toBe(2);
    expect(pauses).toEqual([100]);
    expect(bodies(await drain())).toEqual(hints(5).map(({ jobId }) => hintBody({ jobId })));
  });

  it('names the jobs whose hint could not be sent, and sends the others', async () => {
    proxy.use(
      on(
        'SendMessageBatch',
        { kind: 'failSome', which: [0], applied: false },
        {
          when: ({ body }) => JSON.stringify(body).includes('j0'),
        },
      ),
    );
    expect(await queue.sendHints(hints(12))).toEqual({
      sent: 11,
      failed: ['j0'],
      reason: expect.stringMatching(/\w+: \w/),
    });
    expect(pauses).toEqual([100, 200]);
    expect(await drain()).toHaveLength(11);
  });

  it('repeats a request that failed as a whole, and gives up after three rounds', async () => {
    proxy.use(on('SendMessageBatch', { kind: 'throttle' }, { first: 2 }));
    expect(await queue.sendHints(hints(2))).toEqual({ sent: 2, failed: [] });
    proxy.use(on('SendMessageBatch', { kind: 'reset' }));
    expect(await queue.sendHints(hints(2))).toEqual({
      sent: 0,
      failed: ['j0', 'j1'],
      reason: expect.stringContaining('SendMessageBatch'),
    });
    expect(await queue.sendJobs([{ body: '{}' }])).toMatchObject([
      { outcome: 'failed', reason: expect.stringContaining("SQS did not answer 'SendMessageBatch'") },
    ]);
  });

  it('cuts batches by bytes as well', async () => {
    const body = jobBody('report', 'x'.repeat(100_000));
    const sent = await queue.sendJobs(Array.from({ length: 5 }, () => ({ body })));
    expect(sent.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 5 }, () => 'sent'));
    expect(proxy.tally.of('SendMessageBatch').requests).toBe(3);
  });

  it('makes a message visible again at once, and counts its deliveries', async () => {
    await queue.sendHints(hints(12));
    const first = await drain();
    expect(await drain()).toEqual([]);
    await queue.changeVisibility(first, 0);
    expect(proxy.tally.of('ChangeMessageVisibilityBatch').requests).toBe(2);
    const again = await drain();
    expect(again).toHaveLength(12);
    expect(new Set(again.map(({ receiveCount }) => receiveCount))).toEqual(new Set([2]));
  });

  it('deletes messages for good, ten a request', async () => {
    await queue.sendHints(hints(12));
    const received = await drain();
    await queue.delete(received);
    expect(proxy.tally.of('DeleteMessageBatch').requests).toBe(2);
    await queue.changeVisibility(received, 0).catch(() => {});
    expect(await drain()).toEqual([]);
  });

  it('deletes what it can when one batch fails, and then says so', async () => {
    await queue.sendHints(hints(12));
    const received = await drain();
    proxy.use(on('DeleteMessageBatch', { kind: 'reset' }, { nth: 1 }));
    await expect(queue.delete(received)).rejects.toThrow(QueueUnavailableError);
    await queue.changeVisibility(received, 0).catch(() => {});
    expect(await drain()).toHaveLength(10);
  });

  it('that cannot be asked for messages is unavailable', async () => {
    proxy.use(on('ReceiveMessage', { kind: 'serverError' }));
    await expect(queue.receive({ max: 1, waitSeconds: 0 })).rejects.toThrow(QueueUnavailableError);
  });

  it('gives nothing to a poll that was called off, and leaves to others what it brings later', async () => {
    const poll = new AbortController();
    const receiving = queue.receive({ max: 1, waitSeconds: 20, signal: poll.signal });
    await expect.poll(() => proxy.tally.of('ReceiveMessage').requests).toBe(1);
    poll.abort();
    expect(await receiving).toEqual([]);
    await queue.sendHints(hints(1));
    await expect.poll(() => queue.receive({ max: 1, waitSeconds: 0 })).toHaveLength(1);
    expect(await queue.receive({ max: 1, waitSeconds: 20, signal: poll.signal })).toEqual([]);
  });

  it('sends jobs and hints to the queue of their type, and receives from its own', async () => {
    const urls = await Promise.all(
      ['default', 'render'].map(async (name) => {
        const { QueueUrl = '' } = await direct.send(new CreateQueueCommand({ QueueName: uniqueName(name) }));
        return QueueUrl;
      }),
    );
    const [defaultUrl = '', renderUrl = ''] = urls;
    const urlFor = (type: string | undefined) => (type === 'render' ? renderUrl : defaultUrl);
    const own = createSqsQueue({ client, queueUrl: renderUrl, clock, urlFor });
    const sent = await own.sendJobs([
      { type: 'render', body: 'a' },
      { type: 'invoice', body: 'b' },
      { type: 'render', body: 'c' },
    ]);
    expect(sent.map(({ outcome }) => outcome)).toEqual(['sent', 'sent', 'sent']);
    const hints = [
      { jobId: 'd', type: 'invoice', delaySeconds: 0 },
      { jobId: 'e', type: 'render', delaySeconds: 0, forwarded: true },
      { jobId: 'f', delaySeconds: 0 },
    ];
    expect(await own.sendHints(hints)).toEqual({ sent: 3, failed: [] });
    const received = async (queueUrl: string) => {
      queue = createSqsQueue({ client, queueUrl, clock });
      return bodies(await drain());
    };
    expect(await received(renderUrl)).toEqual([
      'a',
      'c',
      hintBody({ jobId: 'e', type: 'render', forwarded: true }),
    ]);
    expect(await received(defaultUrl)).toEqual([
      'b',
      hintBody({ jobId: 'd', type: 'invoice' }),
      hintBody({ jobId: 'f' }),
    ]);
  });
});
