import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod/mini';
import type { ReceivedMessage } from '../../lib/protocol/ports.ts';
import type { SqsHandler } from '../../lib/wire/lambda.ts';
import { defineJob } from '../../lib/worker/define-job.ts';
import { createLambdaHost } from '../../lib/worker/hosts/lambda-host.ts';
import { createRegistry, type Registry } from '../../lib/worker/registry.ts';
import { on } from '../support/faults.ts';
import { invoke } from '../support/invoke.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

const aborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

const MARGIN_MS = 2000;
let ran: string[] = [];
let stack: WorkerStack;
let handler: SqsHandler;

const quick = defineJob({
  type: 'quick',
  payload: z.object({ n: z.number() }),
  run: ({ jobId, payload }) => {
    ran.push(jobId);
    return { doubled: payload.n * 2 };
  },
});

/** Does three slices an invocation, and then has no time left. */
const sliced = defineJob({
  type: 'sliced',
  payload: z.object({ slices: z.int() }),
  checkpoint: z.object({ done: z.int() }),
  async run({ payload, checkpoint }, { signal, save }) {
    let done = checkpoint?.done ?? 0;
    for (let here = 0; done < payload.slices; here++) {
      if (here === 3) await aborted(signal);
      done += 1;
      await save({ done });
    }
    return { done };
  },
});

const idle = defineJob({ type: 'idle', payload: z.unknown(), run: (_job, { signal }) => aborted(signal) });
const deaf = defineJob({ type: 'deaf', payload: z.unknown(), run: () => new Promise<never>(() => {}) });

const registry = createRegistry([quick, sliced, idle, deaf]);

beforeEach(async () => {
  ran = [];
  stack = await startWorkerStack({
    leaseMs: 3000,
    deadlineMarginMs: MARGIN_MS,
    functionTimeoutMs: 60_000,
    batchSize: 10,
    batchConcurrency: 1,
  });
  await declare(registry);
  handler = createLambdaHost(stack.worker(registry)).handler;
});
afterEach(() => stack.close());

/** As the first worker of a deployment does, once. */
const declare = ({ definitions }: Registry) =>
  stack.direct.control?.declare(new Map(definitions.map(({ type, limit }) => [type, limit])));

/** Everything that can be received now. */
const receive = async (count: number): Promise<readonly ReceivedMessage[]> => {
  const messages: ReceivedMessage[] = [];
  while (messages.length < count)
    messages.push(...(await stack.direct.queue.receive({ max: count - messages.length, waitSeconds: 5 })));
  return messages;
};

/** Sends a job and takes its message. */
const sent = async (...args: Parameters<WorkerStack['send']>): Promise<ReceivedMessage> => {
  await stack.send(...args);
  const [message] = await receive(1);
  if (message === undefined) throw new Error('nothing was received');
  return message;
};

const rawMessage = async (body: string): Promise<ReceivedMessage> => {
  await stack.direct.queue.sendJobs([{ body }]);
  const [message] = await receive(1);
  if (message === undefined) throw new Error('nothing was received');
  return message;
};

/** What goes over the wire besides the one read by which a new sandbox compares its clock with the store's. */
const writes = () => {
  const { GetItem: _, ...others } = stack.dynamodb.counts;
  return others;
};

describe('the cost of a job on the wire', () => {
  it('is one request for a message of a job that is finished already', async () => {
    const message = await sent('quick', { n: 1 }, { jobId: 'a' });
    await invoke(handler, [message]);
    stack.dynamodb.tally.clear();
    expect(await invoke(handler, [message])).toEqual([]);
    expect(writes()).toEqual({ UpdateItem: 1 });
    expect(ran).toEqual(['a']);
  });

  it('is no write more for progress that a short job reports', async () => {
    const reporting = defineJob({
      type: 'reporting',
      payload: z.unknown(),
      run: (_job, { progress }) => {
        for (let n = 0; n < 100; n++) progress({ n });
        return 'done';
      },
    });
    const types = createRegistry([reporting]);
    await declare(types);
    const worker = createLambdaHost(stack.worker(types)).handler;
    await invoke(worker, [await sent('reporting', {}, { jobId: 'a' })]);
    expect(writes()).toEqual({ UpdateItem: 2 });
  });
});

describe('the deadline of an invocation', () => {
  it('lets a job of ten slices end in four attempts of three, without errors or crashes', async () => {
    await invoke(handler, [await sent('sliced', { slices: 10 }, { jobId: 'a' })], MARGIN_MS + 500);
    for (let invocation = 2; invocation <= 4; invocation++)
      expect(await invoke(handler, await receive(1), MARGIN_MS + 500)).toEqual([]);
    expect(await stack.read('a')).toMatchObject({
      status: 'done',
      attempt: 4,
      errors: 0,
      crashes: 0,
      releases: 3,
      result: { done: 10 },
    });
  });

  it('charges an error to a job that used up its invocation for nothing', async () => {
    expect(await invoke(handler, [await sent('idle', {}, { jobId: 'a' })], MARGIN_MS + 200)).toEqual([]);
    expect(await stack.read('a')).toMatchObject({ status: 'pending', errors: 1, releases: 0 });
  });

  it('is kept although the handler ignores its signal', async () => {
    expect(await invoke(handler, [await sent('deaf', {}, { jobId: 'a' })], MARGIN_MS + 200)).toEqual([]);
    expect(await stack.read('a')).toMatchObject({ status: 'pending', errors: 1 });
  });

  it('sends back at once what could not be started, and charges nothing for it', async () => {
    await stack.send('idle', {}, { jobId: 'a' });
    await stack.send('quick', { n: 1 }, { jobId: 'b' });
    const messages = await receive(2);
    const [first, second] = messages.toSorted((x) => (x.body.includes('idle') ? -1 : 1));
    expect(await invoke(handler, [first, second] as ReceivedMessage[], MARGIN_MS + 200)).toEqual([
      second?.messageId,
    ]);
    expect(ran).toEqual([]);
    expect(await stack.read('b')).toBeUndefined();
    const again = await receive(2);
    expect(again.map(({ messageId }) => messageId)).toContain(second?.messageId);
  });
});

describe('a batch', () => {
  it('acknowledges good messages beside a bad one', async () => {
    await stack.send('quick', { n: 1 }, { jobId: 'a' });
    await stack.direct.queue.sendJobs([{ body: 'nonsense' }]);
    expect(await invoke(handler, await receive(2))).toEqual([]);
    expect(ran).toEqual(['a']);
  });
});

describe('a message for later', () => {
  it('waits in a row, with a delayed hint, when it is due within SQS’s delay', async () => {
    await invoke(handler, [await sent('quick', { n: 1 }, { jobId: 'a', delayMs: 2000 })]);
    expect(await stack.read('a')).toMatchObject({ status: 'pending', attempt: 0, dispatches: 1 });
    expect(await invoke(handler, await receive(1))).toEqual([]);
    expect(ran).toEqual(['a']);
  });
});

describe('a worker that cannot use the table', () => {
  it('says so by metrics, though Lambda takes its answer for a success', async () => {
    const { telemetry } = stack.direct;
    const counted = vi.spyOn(telemetry, 'count');
    const broken = createLambdaHost(stack.worker(registry, { telemetry })).handler;
    const message = await sent('quick', { n: 1 }, { jobId: 'a' });
    stack.dynamodb.use(on('*', { kind: 'serverError', status: 400 }));
    const returned = await invoke(broken, [message]);
    expect(returned).toEqual([message.messageId]);
    const total = (metric: string) =>
      counted.mock.calls.reduce((sum, [name, value = 1]) => sum + (name === metric ? value : 0), 0);
    expect(total('StoreFailures')).toBeGreaterThan(0);
    expect(total('MessagesReturned')).toBe(1);
    expect(ran).toEqual([]);
  });
});

describe('a job that cannot be run as it is', () => {
  it('is kept, and not charged, when no handler knows its type', async () => {
    await invoke(handler, [await sent('newer', {}, { jobId: 'a' })]);
    expect(await stack.read('a')).toMatchObject({ status: 'pending', attempt: 0, errors: 0, releases: 0 });
  });

  it('is retried, and charged, when the schema refuses its payload', async () => {
    await invoke(handler, [await rawMessage('{"type":"quick","jobId":"a","payload":{"n":"one"}}')]);
    const job = await stack.read('a');
    expect(job).toMatchObject({ status: 'pending', errors: 1 });
    expect(job?.lastError).toMatch(/^SchemaRefusedError: the payload is refused/);
  });
});

describe('a claim in trouble', () => {
  it('is released, and its message returned, when its outcome stays unknown', async () => {
    const message = await sent('quick', { n: 1 }, { jobId: 'a' });
    stack.dynamodb.use(on('UpdateItem', { kind: 'dropReply' }, { first: 3 }));
    expect(await invoke(handler, [message])).toEqual([message.messageId]);
    expect(ran).toEqual([]);
    expect(await stack.read('a')).toMatchObject({ status: 'pending', releases: 1, errors: 0, crashes: 0 });
  });

  it('keeps offering a result while the lease lasts', async () => {
    const message = await sent('quick', { n: 1 }, { jobId: 'a' });
    stack.dynamodb.use(on('UpdateItem', { kind: 'reset' }, { first: 4, when: (request) => request.nth > 1 }));
    expect(await invoke(handler, [message])).toEqual([]);
    expect(await stack.read('a')).toMatchObject({ status: 'done', attempt: 1 });
  });
});
