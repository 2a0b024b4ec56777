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
  const worker = stack.worker(createRegistry([definition]));
  const engine = createEngine(worker);
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
    ...{ stack, end, stopping, killCell: worker.killCell, row: () => stack.store.read('a') },
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

  it('stores what its handler threw although only a checkpoint had been without an answer', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const { end, row, down, pass } = await startRun(async ({ save }) => {
      await promise;
      await save({ step: 1 }).catch(() => {});
      throw new Error('of its own');
    });
    // A good beat, and the next is far.
    await pass(11_000);
    down(true);
    resolve();
    await pass(LEASE_MS + 1000);
    down(false);
    await pass(5000);
    expect(await end).toBe('retried');
    expect(await row()).toMatchObject({
      status: 'pending',
      errors: 1,
      crashes: 0,
      lastError: expect.stringContaining('of its own'),
    });
  });

  it('stores what its handler threw however often it was excused: only releases are', async () => {
    const { promise, reject } = Promise.withResolvers<never>();
    const { end, row, down, pass } = await startRun(() => promise, { excuses: 2 });
    down(true);
    await pass(LEASE_MS - 5000);
    reject(new Error('of its own'));
    await pass(10_000);
    down(false);
    await pass(5000);
    expect(await end).toBe('retried');
    expect(await row()).toMatchObject({ status: 'pending', errors: 1 });
  });
});

describe('a job whose cell dies as the store goes out of reach', () => {
  const startMortal = (second: (context: JobContext) => Promise<string> = async () => 'again') => {
    let runs = 0;
    return startRun((context) => {
      runs += 1;
      return runs === 1 ? new Promise(() => {}) : second(context);
    });
  };

  it('runs again when the store is back, although its lease has lapsed meanwhile', async () => {
    const { end, row, down, pass, killCell } = await startMortal();
    await pass(5000);
    down(true);
    killCell();
    await pass(LEASE_MS + 2000);
    down(false);
    await pass(5000);
    expect(await end).toBe('done');
    expect(await row()).toMatchObject({ status: 'done', attempt: 2, crashes: 1, releases: 0 });
  });

  it('runs again where only the answer to its new claim was lost, although the lease of the old one is over', async () => {
    const { end, row, down, pass, killCell, swallowAfter } = await startMortal();
    await pass(8000);
    swallowAfter('restart');
    killCell();
    await pass(LEASE_MS - 6000);
    down(false);
    await pass(5000);
    expect(await end).toBe('done');
    expect(await row()).toMatchObject({ status: 'done', attempt: 2, crashes: 1 });
  });

  it('is released where the lease of its new claim is over as well, and is not charged for it', async () => {
    const { stack, end, row, down, pass, killCell, swallowAfter } = await startMortal(async (context) => {
      context.signal.throwIfAborted();
      return untilAborted(context);
    });
    await pass(5000);
    swallowAfter('restart');
    killCell();
    await pass(LEASE_MS + 2000);
    down(false);
    await pass(5000);
    expect(await end).toBe('released');
    expect(await row()).toMatchObject({ status: 'pending', attempt: 2, crashes: 1, releases: 1 });
    expect(stack.table.rows().find(({ jobId }) => jobId === 'a')).toMatchObject({ excuses: 1 });
  });
});

describe('a lease that a late reply has kept after all', () => {
  /** Beats are accepted in time; the reply comes when the worker has given the lease up. */
  const releasedLate = async (changes: Row) => {
    const { stack, end, pass } = await startRun(async ({ signal }) => {
      await untilAborted({ signal } as JobContext).catch(() => stack.clock.sleep(6000));
      signal.throwIfAborted();
      return 'never';
    }, changes);
    const { apply } = stack.table;
    Object.assign(stack.table, {
      async apply(write: Parameters<typeof apply>[0]) {
        const result = await apply(write);
        if (write.transition === 'heartbeat') await stack.clock.sleep(25_000);
        return result;
      },
    });
    await pass(37_000);
    return { ending: await end, row: stack.table.rows().find(({ jobId }) => jobId === 'a') };
  };

  it('is released, which spends one of the job’s two excuses', async () => {
    expect(await releasedLate({ excuses: 1 })).toMatchObject({
      ...{ ending: 'released', row: { status: 'pending', releases: 1, crashes: 0, errors: 0, excuses: 2 } },
    });
  });

  it('is left to the reaper where none is left: a job that freezes its host must not live for ever', async () => {
    expect(await releasedLate({ excuses: 2 })).toMatchObject({ ending: 'lost', row: { status: 'running' } });
  });
});

describe('a claim whose answer is lost as the store goes out of reach', () => {
  async function claimed() {
    const stack = createTestStack();
    const { apply } = stack.table;
    let isDown = false;
    let releases = 0;
    Object.assign(stack.table, {
      async apply(write: Parameters<typeof apply>[0]) {
        if (write.transition === 'releaseUnknown') releases += 1;
        if (isDown) throw new Error('the store is out of reach');
        const result = await apply(write);
        isDown = write.transition === 'claim';
        if (isDown) throw new Error('the reply is lost');
        return result;
      },
    });
    const idle = defineJob({ type: 'job', payload: z.unknown(), async run() {} });
    const engine = createEngine(stack.worker(createRegistry([idle])));
    await stack.queue.sendJobs([{ body: jobBody('job', 1, { jobId: 'a' }) }]);
    const [message] = await stack.queue.receive({ max: 1, waitSeconds: 0 });
    const opened = await engine.open(message as ReceivedMessage);
    if (opened.kind !== 'claimable') throw new Error(opened.kind);
    expect(await engine.claim([opened])).toMatchObject([{ kind: 'returned' }]);
    // Meanwhile somebody else has met the message, found the job held, and deleted it.
    await stack.queue.delete([message as ReceivedMessage]);
    return {
      ...{ stack, engine, releases: () => releases, row: () => stack.store.read('a') },
      up() {
        isDown = false;
      },
      async pass(ms: number) {
        for (let passed = 0; passed < ms; passed += 500) await stack.clock.advance(500);
      },
    };
  }

  it('is released when the store is back, with a hint, and charged to nobody', async () => {
    const { stack, row, pass, up } = await claimed();
    await pass(20_000);
    expect(await row()).toMatchObject({ status: 'running', attempt: 1 });
    up();
    await pass(5000);
    expect(await row()).toMatchObject({ status: 'pending', attempt: 1, crashes: 0, errors: 0 });
    expect(await stack.queue.receive({ max: 1, waitSeconds: 0 })).toMatchObject([
      { body: expect.stringContaining('"a"') },
    ]);
  });

  it('is given up when its lease would be over', async () => {
    const { pass, releases } = await claimed();
    await pass(LEASE_MS + 5000);
    const until = releases();
    expect(until).toBeGreaterThan(5);
    await pass(LEASE_MS);
    expect(releases()).toBe(until);
  });

  it('is tried once more when its host has to go, which waits for no more', async () => {
    const { engine, row, releases, up, pass } = await claimed();
    await pass(1000);
    const before = releases();
    up();
    await engine.quiet();
    expect(releases()).toBe(before + 1);
    expect(await row()).toMatchObject({ status: 'pending' });
  });

  it('is tried once more and given up, where the store is still out of reach', async () => {
    const { engine, releases, pass } = await claimed();
    await pass(1000);
    const before = releases();
    await engine.quiet();
    await pass(LEASE_MS);
    expect(releases()).toBe(before + 1);
  });
});
