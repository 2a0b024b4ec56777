import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { StoreUnavailableError } from '../../../lib/protocol/errors.ts';
import type { JobQueue } from '../../../lib/protocol/ports.ts';
import type { RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import { STORE_ATTEMPTS, STORE_TIMEOUT_MS } from '../../../lib/settings/heartbeat-timing.ts';
import { createTestStack, type TestStack } from '../../../lib/testing/index.ts';
import { createKeptTelemetry } from '../../../lib/testing/kept-telemetry.ts';
import { jobBody } from '../../../lib/wire/message.ts';
import { defineJob } from '../../../lib/worker/define-job.ts';
import { startWorkerProcess } from '../../../lib/worker/hosts/process-host.ts';
import { createRegistry } from '../../../lib/worker/registry.ts';

/** The stack's queue, with polls that take their time as SQS's do. */
const polled = ({ queue, clock }: TestStack): JobQueue => ({
  ...queue,
  async receive(request) {
    await clock.sleep(10);
    return queue.receive(request);
  },
});

const pass = async ({ clock }: TestStack, ms: number) => {
  for (let passed = 0; passed < ms; passed += 10) await clock.advance(10);
};

describe('a process that is told to stop', () => {
  it('has released what it was just claiming by the time it has stopped', async () => {
    const stack = createTestStack({ settings: { processConcurrency: 1 } });
    const { clock } = stack;
    const slow = defineJob({
      type: 'slow',
      payload: z.unknown(),
      async run(_job, { signal }) {
        await clock.sleep(100);
        signal.throwIfAborted();
      },
    });
    const worker = stack.worker(createRegistry([slow]));
    const { promise: granted, resolve: grant } = Promise.withResolvers<void>();
    const store = {
      ...worker.store,
      claim: (request: Parameters<typeof worker.store.claim>[0]) =>
        granted.then(() => worker.store.claim(request)),
    };
    await stack.queue.sendJobs([{ body: jobBody('slow', {}, { jobId: 'a' }) }]);
    const host = startWorkerProcess({ parts: { ...worker, store, queue: polled(stack) }, signals: false });
    await pass(stack, 100);
    const stopped = host.stop({ graceMs: 50 }).then(() => host.running);
    await pass(stack, 100);
    grant();
    await pass(stack, 500);
    expect(await stopped).toBe(0);
    expect(await stack.store.read('a')).toMatchObject({ status: 'pending', releases: 1, crashes: 0 });
  });
});

describe('a process that starts', () => {
  it('receives nothing before its clock was compared with the store’s and found sound', async () => {
    const stack = createTestStack();
    const worker = stack.worker(createRegistry([]));
    let received = 0;
    const clockCheck = { isSound: async () => false };
    await stack.queue.sendJobs([{ body: jobBody('any', {}, { jobId: 'a' }) }]);
    const host = startWorkerProcess({
      parts: {
        ...worker,
        clockCheck,
        queue: {
          ...polled(stack),
          async receive() {
            received += 1;
            return [];
          },
        },
      },
      signals: false,
    });
    await pass(stack, 1000);
    expect(received).toBe(0);
    const stopped = host.stop();
    await pass(stack, 1000);
    await stopped;
  });
});

describe('a process that cannot use the table', () => {
  it('counts the messages that go back, for an alarm', async () => {
    const stack = createTestStack();
    const quick = defineJob({ type: 'quick', payload: z.unknown(), async run() {} });
    const worker = stack.worker(createRegistry([quick]));
    const telemetry = createKeptTelemetry();
    const broken = () => Promise.reject(new Error('AccessDenied'));
    const store = { ...worker.store, claim: broken, releaseUnknown: broken };
    await stack.queue.sendJobs([{ body: jobBody('quick', {}, { jobId: 'a' }) }]);
    const parts = { ...worker, store, telemetry, queue: polled(stack) };
    const host = startWorkerProcess({ parts, signals: false });
    await pass(stack, 500);
    expect(telemetry.total('MessagesReturned')).toBe(1);
    const stopped = host.stop();
    await pass(stack, 1000);
    await stopped;
  });
});

describe('a process that outlives an outage of the store', () => {
  it.each([0, 15, 60, 600])(
    'starts waiting and fresh jobs within 10 s of its end (after %i s)',
    async (seconds) => {
      const stack = createTestStack();
      const { clock, table } = stack;
      const started: number[] = [];
      const quick = defineJob({
        type: 'quick',
        payload: z.unknown(),
        async run() {
          started.push(clock.monotonic());
        },
      });
      const worker = stack.worker(createRegistry([quick]));
      let isDown = true;
      const timedOut = async () => {
        await clock.sleep(STORE_ATTEMPTS * STORE_TIMEOUT_MS);
        throw new StoreUnavailableError('any', new Error('no reply'));
      };
      const { apply, applyMany, read } = table;
      Object.assign(table, {
        apply: (write: RowWrite) => (isDown ? timedOut() : apply(write)),
        applyMany: (writes: readonly RowWrite[]) => (isDown ? timedOut() : applyMany(writes)),
        read: (jobId: string) => (isDown ? timedOut() : read(jobId)),
      });
      const counts: number[] = [];
      const queue: JobQueue = {
        ...polled(stack),
        async receive(request) {
          await clock.sleep(10);
          const messages = await stack.queue.receive(request);
          counts.push(...messages.map(({ receiveCount }) => receiveCount));
          return messages;
        },
      };
      const send = (jobId: string) => stack.queue.sendJobs([{ body: jobBody('quick', {}, { jobId }) }]);
      const host = startWorkerProcess({ parts: { ...worker, queue }, signals: false });
      await send('waiting');
      for (let passed = 0; passed < seconds; passed += 0.25) await clock.advance(250);
      isDown = false;
      const upAt = clock.monotonic();
      await send('fresh');
      for (let passed = 0; passed < 15_000; passed += 10) await clock.advance(10);
      expect(started.map((at) => at - upAt).filter((ms) => ms <= 10_000)).toHaveLength(2);
      expect(Math.max(...counts)).toBeLessThanOrEqual(2);
      const stopped = host.stop();
      await pass(stack, 1000);
      await stopped;
    },
  );
});
