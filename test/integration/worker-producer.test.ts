import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { createProducer, MessageRefusedError } from '../../lib/client/producer/index.ts';
import { defineJob } from '../../lib/worker/define-job.ts';
import { createDeadLetterHandler } from '../../lib/worker/hosts/dead-letter-host.ts';
import { createLambdaHost } from '../../lib/worker/hosts/lambda-host.ts';
import { createRegistry, UnknownTypeError } from '../../lib/worker/registry.ts';
import { invoke } from '../support/invoke.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

let stack: WorkerStack;
beforeEach(async () => {
  stack = await startWorkerStack();
});
afterEach(() => stack.close());

const greet = defineJob({
  type: 'greet',
  payload: z.object({ name: z.string(), at: z.optional(z.iso.datetime()) }),
  run: ({ payload }) => `hello ${payload.name}`,
});
const slow = defineJob({
  type: 'slow',
  payload: z.object({}),
  lease: { ms: 90_000 },
  maxAttempts: 7,
  maxCrashes: 2,
  run: () => 'done',
});
const registry = createRegistry([greet, slow]);
const producer = () =>
  createProducer({ registry, queue: stack.worker(registry).queue, settings: stack.settings });

/** What lies in the queue. */
const messages = async (count: number) => {
  const found: string[] = [];
  while (found.length < count) {
    for (const { body } of await stack.direct.queue.receive({ max: 10, waitSeconds: 5 })) found.push(body);
  }
  return found;
};

describe('a producer', () => {
  it('sends what a plain SendMessage would', async () => {
    const sent = await producer().send('greet', { name: 'Ada' }, { jobId: 'order-7', maxAttempts: 3 });
    expect(sent).toEqual({ type: 'greet', jobId: 'order-7', messageId: expect.any(String) });
    const [body] = await messages(1);
    expect(JSON.parse(body ?? '')).toEqual({
      type: 'greet',
      payload: { name: 'Ada' },
      jobId: 'order-7',
      maxAttempts: 3,
    });
  });

  it('gives the job an id when none is asked for, so that a repeated send is no second job', async () => {
    const sent: string[] = [];
    const first = createProducer({
      registry,
      queue: {
        // As after a lost reply: SQS has the message twice.
        async sendJobs(bodies) {
          sent.push(...bodies.map(({ body }) => body));
          await stack.direct.queue.sendJobs(bodies);
          return stack.direct.queue.sendJobs(bodies);
        },
      },
    });
    const { jobId } = await first.send('greet', { name: 'Ada' });
    expect(JSON.parse(sent[0] ?? '')).toMatchObject({ jobId });
    for (const body of await messages(2)) expect(JSON.parse(body)).toMatchObject({ jobId });
    expect((await first.send('greet', { name: 'Ada' })).jobId).not.toBe(jobId);
    await messages(2);
  });

  it('sends many in few requests', async () => {
    const jobs = Array.from({ length: 25 }, (_, i) => ({
      type: 'greet' as const,
      payload: { name: `n${i}` },
      options: { jobId: `g${i}` },
    }));
    const outcomes = await producer().sendMany(jobs);
    expect(outcomes.map((each) => each.outcome === 'sent' && each.jobId)).toEqual(
      jobs.map((job) => job.options.jobId),
    );
    expect(stack.sqs.counts.SendMessageBatch).toBe(3);
    expect(await messages(25)).toHaveLength(25);
  });

  it('leaves a delay that SQS can keep to SQS, and the worker then needs no row for it', async () => {
    await producer().send('greet', { name: 'Ada' }, { jobId: 'later', delayMs: 1500 });
    const [message] = await stack.direct.queue.receive({ max: 1, waitSeconds: 10 });
    await invoke(createLambdaHost(stack.worker(registry)).handler, message ? [message] : []);
    expect(await stack.read('later')).toMatchObject({ status: 'done' });
    // A read compares the clocks, and the first worker of a deployment declares its types: a read and three writes.
    expect(stack.dynamodb.counts).toEqual({ GetItem: 2, UpdateItem: 2 + 3 });
  });

  it.each<[string, () => Promise<unknown>, RegExp]>([
    ['a payload that the schema refuses', () => producer().send('greet', { name: 7 as never }), /name: /],
    [
      'a Date, which would arrive as text',
      () => producer().send('greet', { name: new Date(Number.NaN) as never }),
      /name/,
    ],
    ['an illegal key', () => producer().send('greet', { name: 'Ada' }, { key: 'a:b' }), /'key' is 'a:b'/],
    ['a bad id', () => producer().send('greet', { name: 'Ada' }, { jobId: 'a:b' }), /'jobId' is 'a:b'/],
    ['a payload too large', () => producer().send('greet', { name: 'x'.repeat(70_000) }), /at most 65536/],
    [
      'one bad job among many',
      () =>
        producer().sendMany([
          { type: 'greet', payload: { name: 'Ada' } },
          { type: 'greet', payload: { name: 7 as never } },
        ]),
      /name: /,
    ],
  ])('sends nothing for %s', async (_what, send, reason) => {
    const refused = await send().catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(MessageRefusedError);
    expect(String(refused)).toMatch(reason);
    expect(stack.sqs.counts.SendMessageBatch).toBeUndefined();
  });

  it('refuses a type that no worker knows, and suggests the near one', async () => {
    const send = producer().send('great' as never, {} as never);
    await expect(send).rejects.toThrow(UnknownTypeError);
    await expect(send).rejects.toThrow(/Did you mean 'greet'/);
  });

  it('is typed by the registry', () => {
    const typed = producer();
    // @ts-expect-error there is no such type
    const noType = () => typed.send('grete', { name: 'Ada' });
    // @ts-expect-error the payload has no such key
    const noKey = () => typed.send('greet', { nom: 'Ada' });
    expect([noType, noKey]).toHaveLength(2);
  });
});

describe('the dead-letter consumer', () => {
  const take = async (body: string) => {
    await stack.direct.queue.sendJobs([{ body }]);
    const received = await stack.direct.queue.receive({ max: 1, waitSeconds: 5 });
    const handler = createDeadLetterHandler(stack.worker(registry));
    return { received, failures: await invoke(handler, received) };
  };

  it('puts a job that was never claimed into a row and hints at it', async () => {
    const { failures } = await take('{"type":"greet","jobId":"a","payload":{"name":"Ada"}}');
    expect(failures).toEqual([]);
    expect(await stack.read('a')).toMatchObject({ status: 'pending', attempt: 0, dispatches: 1 });
    expect(await messages(1)).toEqual(['{"hint":"a","type":"greet"}']);
  });

  it('leaves the terms of the type to the first claim, which sets those that the message left open', async () => {
    await take('{"type":"slow","jobId":"a","payload":{},"maxAttempts":4}');
    const pending = await stack.read('a');
    expect(pending).toMatchObject({ status: 'pending', maxAttempts: 4 });
    expect(pending).not.toHaveProperty('leaseMs');
    expect(pending).not.toHaveProperty('maxCrashes');
    const hint = await stack.direct.queue.receive({ max: 1, waitSeconds: 5 });
    const worker = createLambdaHost(stack.worker(registry)).handler;
    expect(await invoke(worker, hint)).toEqual([]);
    expect(await stack.read('a')).toMatchObject({
      ...{ status: 'done', attempt: 1, leaseMs: 90_000, maxAttempts: 4, maxCrashes: 2 },
    });
  });
});
