import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import type { Context, SQSEvent } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ReapResult } from '../../lib/reaper/reap.ts';
import { type BusEvent, startEventBus } from '../../lib/tools/dev/event-bus.ts';
import { createQueue, sqsEndpoint } from '../support/engines.ts';
import { newJob } from '../support/jobs.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

type Handler = (event: Partial<SQSEvent>, context: Context) => Promise<ReapResult>;

const withTimeLeft = (ms: number) => ({ getRemainingTimeInMillis: () => ms }) as Context;

describe('the reaper function', () => {
  let stack: WorkerStack;
  let bus: Awaited<ReturnType<typeof startEventBus>>;
  let events: BusEvent[];
  let wakeQueueUrl: string;

  beforeEach(async () => {
    events = [];
    stack = await startWorkerStack({ eventsEnabled: true });
    bus = await startEventBus((event) => events.push(event));
    wakeQueueUrl = await createQueue(stack.sqsClient);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    vi.restoreAllMocks();
    await Promise.all([bus.stop(), stack.close()]);
  });

  /** The function as Lambda loads it: everything comes from the environment. */
  async function load(over: Readonly<Record<string, string>> = {}) {
    const environment = {
      ...stack.environment,
      AWS_ENDPOINT_URL_EVENTBRIDGE: bus.endpoint,
      LEASEHOLD_WAKE_QUEUE_URL: wakeQueueUrl,
      ...over,
    };
    for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
    vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'INFO');
    vi.resetModules();
    const lines: Record<string, unknown>[] = [];
    for (const level of ['log', 'info', 'warn', 'error'] as const)
      vi.spyOn(console, level).mockImplementation((line) => void lines.push(JSON.parse(String(line))));
    const { handler } = (await import('../../functions/reaper/index.ts')) as { handler: Handler };
    return {
      lines,
      tick: () => handler({}, withTimeLeft(60_000)),
      /** Takes the next message from the wake queue, as Lambda does, and starts the function with it. */
      async wake() {
        const reply = await stack.sqsClient.send(
          new ReceiveMessageCommand({ QueueUrl: wakeQueueUrl, WaitTimeSeconds: 10 }),
        );
        const bodies = (reply.Messages ?? []).map(({ Body: body = '' }) => ({ body }));
        expect(bodies).toHaveLength(1);
        return handler({ Records: bodies } as SQSEvent, withTimeLeft(60_000));
      },
    };
  }

  it('gives a dead worker’s job on, started by the reaper before', async () => {
    const { store, queue } = stack.direct;
    const job = newJob('a', { leaseMs: stack.settings.leaseMs });
    const { lines, tick, wake } = await load();
    expect(await tick()).toMatchObject({ sweeps: 1, ended: 'swept', nextAt: expect.any(Number) });
    await store.claim({ job, owner: 'worker/dead' });
    let reclaimed = 0;
    while (reclaimed === 0) ({ reclaimed } = await wake());
    const [hint] = await queue.receive({ max: 1, waitSeconds: 10 });
    expect(hint?.body).toBe('{"hint":"a","type":"report"}');
    expect(lines).toContainEqual(
      expect.objectContaining({ message: 'reclaimed lapsed jobs', count: 1, service: 'test' }),
    );
    expect(lines).toContainEqual(
      expect.objectContaining({ service: 'test', JobsReclaimed: 1, ReclaimDelay: expect.any(Number) }),
    );
    expect(events).toEqual([
      expect.objectContaining({ name: 'ReaperLeadershipChanged' }),
      expect.objectContaining({ name: 'JobReclaimed', detail: expect.objectContaining({ jobId: 'a' }) }),
    ]);
  });

  it('costs one read, one look, one message and one write when the system is idle', async () => {
    const { tick, wake } = await load({
      AWS_ENDPOINT_URL_DYNAMODB: stack.dynamodb.endpoint,
      AWS_ENDPOINT_URL_SQS: stack.sqs.endpoint,
      LEASEHOLD_WAKE_QUEUE_URL: wakeQueueUrl.replace(sqsEndpoint(), stack.sqs.endpoint),
    });
    const { shards } = stack.settings;
    expect(await tick()).toMatchObject({ sweeps: 1, ended: 'swept' });
    // What runs and what waits; a wake looks at what runs alone.
    expect(stack.dynamodb.counts).toEqual({ GetItem: 1, UpdateItem: 1, Query: 2 * shards });
    expect(stack.sqs.counts).toMatchObject({ SendMessage: 1 });
    await wake();
    expect(stack.dynamodb.counts).toEqual({ GetItem: 2, UpdateItem: 2, Query: 3 * shards });
    expect(stack.sqs.counts).toMatchObject({ SendMessage: 2 });
    // All environments of the function hold the promise under one name.
    expect(events).toEqual([
      expect.objectContaining({
        name: 'ReaperLeadershipChanged',
        detail: expect.objectContaining({ change: 'acquired', leader: 'reaper function', term: 1 }),
      }),
    ]);
  });

  it('sweeps as without pools where there are five of containers; a tick reads running jobs once more for them', async () => {
    const [count, tasks] = [5, { max: 20, concurrency: 4 }];
    const named: Record<string, object> = {};
    for (let n = 0; n < count; n++) {
      const queueUrl = (await createQueue(stack.sqsClient)).replace(sqsEndpoint(), stack.sqs.endpoint);
      named[`pool-${n}`] = { queueUrl, types: [`type-${n}`], tasks };
    }
    const { tick, wake } = await load({
      AWS_ENDPOINT_URL_DYNAMODB: stack.dynamodb.endpoint,
      AWS_ENDPOINT_URL_SQS: stack.sqs.endpoint,
      LEASEHOLD_WAKE_QUEUE_URL: wakeQueueUrl.replace(sqsEndpoint(), stack.sqs.endpoint),
      LEASEHOLD_POOLS: JSON.stringify(named),
      LEASEHOLD_POOL: 'default',
    });
    const { shards } = stack.settings;
    await tick();
    const looks = 3 * shards;
    expect(stack.dynamodb.counts).toEqual({ GetItem: 1, UpdateItem: 1, Query: looks });
    expect(stack.sqs.counts.GetQueueAttributes ?? 0).toBe(count);
    await wake();
    expect(stack.dynamodb.counts).toEqual({ GetItem: 2, UpdateItem: 2, Query: looks + shards });
    expect(stack.sqs.counts.GetQueueAttributes ?? 0).toBe(count);
  });

  it('ends after one read when it is started by a message that is not the last that it sent', async () => {
    const { tick } = await load({ AWS_ENDPOINT_URL_DYNAMODB: stack.dynamodb.endpoint });
    await tick();
    const { handler } = (await import('../../functions/reaper/index.ts')) as { handler: Handler };
    for (const body of ['{"wake":"of another"}', 'not json', '{}', 'null', '{"wake":7}']) {
      const before = { ...stack.dynamodb.counts };
      const event = { Records: [{ body }] } as SQSEvent;
      expect(await handler(event, withTimeLeft(60_000))).toMatchObject({ ended: 'superseded', sweeps: 0 });
      expect(stack.dynamodb.counts, body).toEqual({ ...before, GetItem: (before.GetItem ?? 0) + 1 });
    }
  });

  it('says which variable is missing when it does not know its queue', async () => {
    await expect(load({ LEASEHOLD_WAKE_QUEUE_URL: '' })).rejects.toThrow(
      "environment variable 'LEASEHOLD_WAKE_QUEUE_URL' is not set",
    );
  });
});
