import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import type { ReceivedMessage } from '../../../lib/protocol/ports.ts';
import type { Row } from '../../../lib/protocol/writes/row-write.ts';
import { createTestStack } from '../../../lib/testing/index.ts';
import { jobBody } from '../../../lib/wire/message.ts';
import { ShuttingDown } from '../../../lib/worker/abort-reasons.ts';
import { defineJob, type JobContext } from '../../../lib/worker/define-job.ts';
import { createEngine } from '../../../lib/worker/intake/engine.ts';
import { createRegistry } from '../../../lib/worker/registry.ts';

const LEASE_MS = 30_000;

/** One job that runs, on a store that can be put out of reach. */
async function startRun(run: (context: JobContext) => Promise<string>, changes: Row = {}) {
  const stack = createTestStack();
  const { apply, read } = stack.table;
  let isDown = false;
  let swallowsAfter: string | undefined;
  const up = () => {
    if (isDown) throw new Error('the store is out of reach');
  };
  Object.assign(stack.table, {
    async apply(write: Parameters<typeof apply>[0]) {
      up();
      const result = await apply(write);
      isDown = write.transition === swallowsAfter;
      up();
      return result;
    },
    async read(jobId: string) {
      up();
      return read(jobId);
    },
  });
  const definition = defineJob({
    type: 'job',
    payload: z.unknown(),
    run: (_job, context) => run(context),
  });
  const engine = createEngine(stack.worker(createRegistry([definition])));
  await stack.queue.sendJobs([{ body: jobBody('job', 1, { jobId: 'a' }) }]);
  const [message] = await stack.queue.receive({ max: 1, waitSeconds: 0 });
  const opened = await engine.open(message as ReceivedMessage);
  if (opened.kind !== 'claimable') throw new Error(opened.kind);
  const [claimed] = await engine.claim([opened]);
  if (claimed?.kind !== 'claimed') throw new Error(claimed?.kind);
  stack.table.put({ ...(await read('a')), ...changes, jobId: 'a' });
  const { found } = claimed.job;
  const job = { ...claimed.job, ...changes, found: found && { ...found, ...changes } };
  const stopping = new AbortController();
  const end = engine.run({ ...claimed, job }, { stopping: stopping.signal, releaseWithinMs: 5000 });
  await stack.clock.advance(0);
  return {
    ...{ stack, end, stopping, row: () => stack.store.read('a') },
    /** Carries out the next write of this kind, and is out of reach from then on. */
    swallowAfter(transition: string) {
      swallowsAfter = transition;
    },
    down(is: boolean) {
      isDown = is;
      swallowsAfter = undefined;
    },
    async pass(ms: number) {
      for (let passed = 0; passed < ms; passed += 500) await stack.clock.advance(500);
    },
  };
}

const untilAborted = ({ signal }: JobContext) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

describe('a worker that was cut off from the store for longer than its lease', () => {
  it('releases its job when it gets through, if nobody has taken it: the reaper would charge a crash', async () => {
    const { stack, end, row, down, pass } = await startRun(untilAborted);
    down(true);
    await pass(LEASE_MS + 5000);
    down(false);
    await pass(5000);
    expect(await end).toBe('released');
    expect(await row()).toMatchObject({ status: 'pending', crashes: 0, errors: 0, releases: 1 });
    expect(stack.table.rows().find(({ jobId }) => jobId === 'a')).toMatchObject({ excuses: 1 });
    expect(stack.telemetry.total('LeasesLost')).toBe(1);
  });

  it('leaves it to the reaper the third time in a row: a job that cuts its host off must not live for ever', async () => {
    const { end, row, down, pass } = await startRun(untilAborted, { excuses: 2 });
    down(true);
    await pass(LEASE_MS + 5000);
    expect(await end).toBe('lost');
    down(false);
    expect(await row()).toMatchObject({ status: 'running', attempt: 1, releases: 0 });
  });

  it('does not fail a job for crashes that a checkpoint has forgiven whose answer was lost', async () => {
    const { promise, reject } = Promise.withResolvers<never>();
    const { end, row, down, pass, swallowAfter } = await startRun(
      async (context) => {
        await context.save({ step: 1 }).catch(() => {});
        return promise;
      },
      { crashes: 2, maxAttempts: 3, maxCrashes: 3 },
    );
    swallowAfter('checkpoint');
    await pass(LEASE_MS - 5000);
    reject(new Error('of its own'));
    await pass(10_000);
    down(false);
    await pass(10_000);
    expect(await end).toBe('retried');
    expect(await row()).toMatchObject({ status: 'pending', errors: 1, crashes: 0 });
  });

  it('leaves it to whoever has taken it', async () => {
    const { stack, end, row, down, pass } = await startRun(untilAborted);
    down(true);
    await pass(LEASE_MS + 3000);
    down(false);
    await stack.sweep();
    await pass(5000);
    expect(await end).toBe('lost');
    expect(await row()).toMatchObject({ status: 'pending', attempt: 1, releases: 0 });
    expect(stack.telemetry.total('WritesFenced')).toBe(1);
  });

  it('stores what its handler returned when it gets through, if nobody has taken the job', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const { end, row, down, pass } = await startRun(() => promise);
    await pass(5000);
    down(true);
    resolve('result');
    await pass(LEASE_MS + 5000);
    down(false);
    await pass(5000);
    expect(await end).toBe('done');
    expect(await row()).toMatchObject({ status: 'done', attempt: 1, result: 'result' });
  });

  it('gives up with its lease where its host has to go: nobody waits for that', async () => {
    const { end, down, pass, stopping } = await startRun(() => new Promise(() => {}));
    down(true);
    stopping.abort(new ShuttingDown('shutdown'));
    await pass(LEASE_MS + 2000);
    expect(await end).toBe('unsaved');
  });

  it('gives up after a second lease’s length', async () => {
    const { stack, end, row, down, pass } = await startRun(untilAborted);
    down(true);
    await pass(2 * LEASE_MS + 5000);
    expect(await end).toBe('unsaved');
    down(false);
    await stack.sweep();
    expect(await row()).toMatchObject({ status: 'pending', attempt: 1 });
  });
});
