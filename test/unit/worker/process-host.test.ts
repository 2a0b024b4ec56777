import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { StoreUnavailableError } from '../../../lib/protocol/errors.ts';
import type { JobQueue } from '../../../lib/protocol/ports.ts';
import type { RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import { STORE_ATTEMPTS, STORE_TIMEOUT_MS } from '../../../lib/settings/heartbeat-timing.ts';
import { createTestStack, type TestStack } from '../../../lib/testing/test-stack.ts';
import { jobBody } from '../../../lib/wire/message.ts';
import { defineJob } from '../../../lib/worker/define-job.ts';
import { startWorkerProcess, type WorkerProcess } from '../../../lib/worker/hosts/process-host.ts';
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

describe('a process that is stopped', () => {
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

/** A store that can be put out of reach, jobs that tell when they start, and how often each message was received. */
function outageStage() {
  const stack = createTestStack();
  const { clock, table } = stack;
  const store = { isDown: true, isReadable: false };
  const timedOut = async () => {
    await clock.sleep(STORE_ATTEMPTS * STORE_TIMEOUT_MS);
    throw new StoreUnavailableError('any', new Error('no reply'));
  };
  const { apply, applyMany, read } = table;
  Object.assign(table, {
    apply: (write: RowWrite) => (store.isDown ? timedOut() : apply(write)),
    applyMany: (writes: readonly RowWrite[]) => (store.isDown ? timedOut() : applyMany(writes)),
    read: (jobId: string) => (store.isDown && !store.isReadable ? timedOut() : read(jobId)),
  });
  const started: number[] = [];
  const counts: number[] = [];
  const quick = defineJob({
    type: 'quick',
    payload: z.unknown(),
    async run() {
      started.push(clock.monotonic());
    },
  });
  const queue: JobQueue = {
    ...polled(stack),
    async receive(request) {
      await clock.sleep(10);
      const messages = await stack.queue.receive(request);
      counts.push(...messages.map(({ receiveCount }) => receiveCount));
      return messages;
    },
  };
  const hosts: WorkerProcess[] = [];
  return {
    ...{ stack, store, started, counts },
    start() {
      const parts = { ...stack.worker(createRegistry([quick])), queue };
      hosts.push(startWorkerProcess({ parts, signals: false }));
    },
    send: (jobId: string) => stack.queue.sendJobs([{ body: jobBody('quick', {}, { jobId }) }]),
    async last(seconds: number) {
      for (let passed = 0; passed < seconds; passed += 0.25) await clock.advance(250);
    },
    async stop() {
      const stopped = hosts.map((host) => host.stop());
      await pass(stack, 1000);
      await Promise.all(stopped);
    },
  };
}

describe('a process that outlives an outage of the store', () => {
  it.each([0, 60, 600])(
    'starts waiting and fresh jobs within 10 s of its end (after %i s)',
    async (seconds) => {
      const { stack, store, started, counts, start, send, last, stop } = outageStage();
      start();
      await send('waiting');
      await last(seconds);
      store.isDown = false;
      const upAt = stack.clock.monotonic();
      await send('fresh');
      await pass(stack, 15_000);
      expect(started.map((at) => at - upAt).filter((ms) => ms <= 10_000)).toHaveLength(2);
      expect(Math.max(...counts)).toBeLessThanOrEqual(2);
      await stop();
    },
  );

  it.each([
    ['a dozen processes meet it one after the other', 12, false],
    ['the store still answers reads', 1, true],
  ])('makes no message a dead letter within five minutes, though %s', async (_, processes, isReadable) => {
    const { stack, store, started, counts, start, send, last, stop } = outageStage();
    store.isReadable = isReadable;
    for (let n = 0; n < processes; n++) start();
    await send('waiting');
    await last(300);
    expect(Math.max(...counts)).toBeLessThan(stack.settings.maxReceiveCount);
    store.isDown = false;
    await last(300);
    expect(started).toHaveLength(1);
    await stop();
  });
});
