import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { NonRetryableError } from '../../../lib/protocol/errors.ts';
import { killableCells } from '../../../lib/testing/killable-cells.ts';
import { createTestStack, type TestStack } from '../../../lib/testing/test-stack.ts';
import { jobBody } from '../../../lib/wire/message.ts';
import { LeaseLost, ShuttingDown } from '../../../lib/worker/abort-reasons.ts';
import {
  defineJob,
  type JobContext,
  type JobDefinition,
  type JobOptions,
} from '../../../lib/worker/define-job.ts';
import { createBatchRunner } from '../../../lib/worker/hosts/lambda-batch.ts';
import { createEngine } from '../../../lib/worker/intake/engine.ts';
import { createRegistry } from '../../../lib/worker/registry.ts';
import { claimOne, claimSent, deliver } from '../../support/claims.ts';

const SECRET = 'the-secret-of-the-payload';

const jobOf = (
  options: JobOptions,
  run: (context: JobContext) => Promise<string | undefined> | string | undefined,
) => defineJob({ ...options, type: 'job', payload: z.unknown(), run: (_job, context) => run(context) });

const aborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

/** Sends one job of this type and starts its run. */
async function startRun(definition: JobDefinition, stack: TestStack = createTestStack()) {
  const worker = stack.worker(createRegistry([definition]));
  const engine = createEngine(worker);
  const body = jobBody(definition.type, { text: SECRET }, { jobId: 'a' });
  const claimed = await claimOne(stack, engine, body);
  const stopping = new AbortController();
  const end = engine.run(claimed, { stopping: stopping.signal, releaseWithinMs: 5000 });
  await stack.clock.advance(0);
  return { stack, engine, worker, end, stopping, row: () => stack.store.read('a') };
}

describe('wait and run time by type', () => {
  it('are from the message’s time to the claim, and from there to the end of the run', async () => {
    const stack = createTestStack();
    const times: [string, string, number][] = [];
    Object.assign(stack.telemetry, {
      timeOfType: (metric: string, type: string, ms: number) => void times.push([metric, type, ms]),
    });
    const engine = createEngine(
      stack.worker(createRegistry([jobOf({}, () => stack.clock.sleep(700).then(() => 'ok'))])),
    );
    const dueAt = stack.clock.now() + 60_000;
    await stack.queue.sendJobs([
      { body: jobBody('job', 1, { jobId: 'now' }) },
      { body: jobBody('job', 1, { jobId: 'due', notBefore: dueAt }) },
    ]);
    await stack.clock.advance(63_000);
    const claimed = await claimSent(stack, engine);
    const runs = claimed.map((each) =>
      each.kind === 'claimed'
        ? engine.run(each, { stopping: new AbortController().signal, releaseWithinMs: 5000 })
        : undefined,
    );
    await stack.clock.advance(0);
    await stack.clock.advance(700);
    await Promise.all(runs);
    expect(times.sort()).toEqual([
      ['RunTime', 'job', 700],
      ['RunTime', 'job', 700],
      ['WaitTime', 'job', 3000],
      ['WaitTime', 'job', 63_000],
    ]);
  });
});

describe('an invocation that ends while a job runs that began again in it', () => {
  const endOf = async ({ dies }: { readonly dies: boolean }) => {
    const stack = createTestStack();
    const definition = jobOf({}, ({ signal }) => aborted(signal));
    const worker = stack.worker(createRegistry([definition]));
    const killable = killableCells(worker.cells);
    const { end, stopping, row } = await startRun(definition, {
      ...stack,
      worker: () => ({ ...worker, cells: killable.cells }),
    });
    if (dies) {
      killable.kill();
      await stack.clock.advance(0);
      expect(await row()).toMatchObject({ status: 'running', attempt: 2, crashes: 1 });
    }
    stopping.abort(new ShuttingDown('deadline'));
    await stack.clock.advance(0);
    expect(await end).toBe('released');
    return row();
  };

  it('releases it for nothing: it did not have the whole of it', async () => {
    expect(await endOf({ dies: true })).toMatchObject({
      status: 'pending',
      errors: 0,
      crashes: 1,
      releases: 1,
    });
  });

  it('charges the one that had', async () => {
    expect(await endOf({ dies: false })).toMatchObject({ status: 'pending', errors: 1, crashes: 0 });
  });
});

describe('a worker that lost its lease', () => {
  it('notices on the tick its lease ends, and not before', async () => {
    let signal: AbortSignal | undefined;
    const run = await startRun(
      jobOf({ lease: { ms: 20_000, fixed: true } }, (context) => {
        signal = context.signal;
        return aborted(context.signal);
      }),
    );
    await run.stack.clock.advance(19_999);
    expect(signal?.aborted).toBe(false);
    await run.stack.clock.advance(1);
    expect(signal?.reason).toBeInstanceOf(LeaseLost);
    expect(await run.end).toBe('lost');
    // Neither a retry nor a release: the row is as the claim left it.
    expect(await run.row()).toMatchObject({ status: 'running', attempt: 1 });
  });
});

describe('the heartbeats of a job', () => {
  it.each([
    ['come at the interval of the settings', {}, 5000],
    ['come every third of a lease that is the type’s', { lease: { ms: 60_000 } }, 20_000],
    [
      'come at the interval of the settings where the type asks for the same lease',
      { lease: { ms: 20_000 } },
      5000,
    ],
  ])('%s', async (_, options: JobOptions, intervalMs) => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const { stack, end, row } = await startRun(jobOf(options, () => promise));
    const claimedAt = stack.clock.now();
    await stack.clock.advance(0.8 * intervalMs - 1);
    expect(await row()).toMatchObject({ heartbeatAt: claimedAt });
    await stack.clock.advance(0.2 * intervalMs + 1);
    expect(await row()).not.toMatchObject({ heartbeatAt: claimedAt });
    resolve('done');
    expect(await end).toBe('done');
  });
});

describe('a handler that ignores its signal', () => {
  it('is left behind after a lease’s length when an operator cancelled it', async () => {
    const { stack, end } = await startRun(jobOf({}, () => new Promise(() => {})));
    await stack.store.cancel('a');
    await stack.clock.advance(stack.settings.heartbeatMs + stack.settings.leaseMs);
    expect(await end).toBe('cancelled');
  });
});

describe('a checkpoint', () => {
  it('replaces those that still wait to be sent, one write at a time', async () => {
    const { stack, end, row } = await startRun(
      jobOf({}, async ({ save }) => {
        await Promise.all([1, 2, 3, 4, 5].map((n) => save({ n })));
        return 'done';
      }),
    );
    expect(await end).toBe('done');
    const job = await row();
    expect(job?.checkpoint).toEqual({ n: 5 });
    expect(job?.checkpointSeq).toBeLessThan(5);
    expect(stack.telemetry.total('WritesFenced')).toBe(0);
  });

  it('is the value at the call, even if the handler changes it before it is sent', async () => {
    const { end, row } = await startRun(
      jobOf({}, async ({ save }) => {
        const place = { n: 1 };
        const storing = [save(place)];
        place.n = 2;
        await Promise.all(storing);
        return 'done';
      }),
    );
    await end;
    expect(await row()).toMatchObject({ checkpoint: { n: 1 } });
  });
});

describe('progress', () => {
  it('is written by itself at most once in each heartbeat interval', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const stack = createTestStack();
    let report: JobContext['progress'] = () => {};
    const { end, row } = await startRun(
      jobOf({}, ({ progress }) => {
        report = progress;
        return promise;
      }),
      stack,
    );
    for (let second = 1; second <= 60; second++) {
      await stack.clock.advance(1000);
      report({ second });
    }
    await stack.clock.advance(0);
    const job = await row();
    expect(job?.checkpointSeq).toBe(12);
    expect(job?.progress).toEqual({ second: 60 });
    resolve('done');
    await end;
  });
});

describe('a result', () => {
  it('takes the last progress along, in the same write', async () => {
    const { end, row } = await startRun(
      jobOf({}, ({ progress }) => {
        progress({ percent: 50 });
        progress({ percent: 100 });
        return 'done';
      }),
    );
    expect(await end).toBe('done');
    expect(await row()).toMatchObject({ result: 'done', progress: { percent: 100 }, checkpointSeq: 0 });
  });

  it('that is too large is charged as an error, and not written', async () => {
    const { end, row } = await startRun(jobOf({}, () => 'x'.repeat(40_000)));
    expect(await end).toBe('retried');
    expect((await row())?.lastError).toMatch(/^TooLargeError: the result has 40002 bytes/);
  });

  it('that is not JSON is charged as an error', async () => {
    const { end, row } = await startRun(jobOf({}, () => 1n as unknown as string));
    expect(await end).toBe('retried');
    expect((await row())?.lastError).toMatch(/^NotJsonError: the result/);
  });
});

describe('a bus that takes no events', () => {
  it('changes nothing about how a run ended', async () => {
    const stack = createTestStack();
    const definition = jobOf({}, () => Promise.reject(new NonRetryableError('no')));
    const worker = stack.worker(createRegistry([definition]));
    const events = { publish: () => Promise.reject(new Error('down')) };
    const { end, row } = await startRun(definition, { ...stack, worker: () => ({ ...worker, events }) });
    expect(await end).toBe('failed');
    expect(await row()).toMatchObject({ status: 'failed' });
  });
});

describe('the log', () => {
  it('never shows a payload, nor does an event, whatever becomes of its job', async () => {
    const picky = defineJob({
      type: 'job',
      // Repeats what it was given, as some schema libraries do.
      payload: z.unknown().check(z.refine(() => false, { error: ({ input }) => JSON.stringify(input) })),
      run: () => undefined,
    });
    const stack = createTestStack();
    const engine = createEngine(stack.worker(createRegistry([picky])));
    const ends = await deliver(
      stack,
      engine,
      SECRET,
      jobBody('job', { text: SECRET }, { jobId: 'a' }),
      jobBody('job', { text: SECRET }, { jobId: 'b', maxAttempts: 1 }),
    );
    expect(ends).toEqual(['retried', 'failed']);
    expect((await stack.store.read('a'))?.lastError).toContain(SECRET);
    expect(stack.telemetry.total('MessagesRejected')).toBe(1);
    expect(stack.telemetry.lines.length).toBeGreaterThan(2);
    expect(JSON.stringify(stack.telemetry.lines)).not.toContain(SECRET);
    expect(stack.events.map(({ name }) => name)).toEqual(['JobRetried', 'JobFailed']);
    expect(JSON.stringify(stack.events)).not.toContain(SECRET);
  });
});

describe('a batch that runs one after the other', () => {
  it('answers SQS before the invocation is cut off, though a beat gets no reply', async () => {
    const stack = createTestStack();
    const worker = stack.worker(createRegistry([jobOf({}, () => 'fine')]));
    await stack.queue.sendJobs([{ body: jobBody('job', {}, { jobId: 'a' }) }]);
    const messages = await stack.queue.receive({ max: 1, waitSeconds: 0 });
    const run = createBatchRunner({
      ...worker,
      heart: { ...worker.heart, quiet: () => new Promise(() => {}) },
    });
    const endsAt = stack.clock.monotonic() + 60_000;
    const answer = run(messages, () => endsAt - stack.clock.monotonic());
    await stack.clock.advance(0);
    await stack.clock.advance(59_600);
    expect(await Promise.race([answer, Promise.resolve('cut off')])).toEqual([]);
  });

  it('charges the end of the invocation only to a job that had all of it', async () => {
    const stack = createTestStack({ settings: { batchSize: 10 } });
    const { clock, settings } = stack;
    const definition = defineJob({
      type: 'job',
      payload: z.unknown(),
      run: ({ jobId }, { signal }) => (jobId === 'quick' ? 'done' : aborted(signal)),
    });
    const invocation = async (jobIds: readonly string[]) => {
      await stack.queue.sendJobs(jobIds.map((jobId) => ({ body: jobBody('job', {}, { jobId }) })));
      const messages = await stack.queue.receive({ max: 10, waitSeconds: 0 });
      const endsAt = clock.monotonic() + settings.functionTimeoutMs;
      const run = createBatchRunner(stack.worker(createRegistry([definition])));
      const answer = run(messages, () => endsAt - clock.monotonic());
      await clock.advance(0);
      await clock.advance(settings.functionTimeoutMs);
      return answer;
    };
    await invocation(['first']);
    expect(await stack.store.read('first')).toMatchObject({ errors: 1, releases: 0 });
    await stack.queue.delete(await stack.queue.receive({ max: 10, waitSeconds: 0 }));
    await invocation(['quick', 'second']);
    expect(await stack.store.read('second')).toMatchObject({ status: 'pending', errors: 0, releases: 1 });
  });
});

describe('claims made together', () => {
  it('are judged one by one: a failed one is released, and a repeated job claimed once', async () => {
    const stack = createTestStack();
    const worker = stack.worker(createRegistry([jobOf({}, () => 'fine')]));
    const engine = createEngine({
      ...worker,
      store: {
        ...worker.store,
        // Granted, but its answer is lost.
        async claimMany(requests) {
          const outcomes = await worker.store.claimMany(requests);
          return outcomes.map((outcome, i) =>
            requests[i]?.job.jobId === 'b' ? { outcome: 'failed', error: new Error('no answer') } : outcome,
          );
        },
      },
    });
    const ids = ['a', 'b', 'c', 'a'];
    const bodies = ids.map((jobId) => jobBody('job', {}, { jobId }));
    const claimed = await claimSent(stack, engine, ...bodies);
    expect(claimed.map(({ kind }) => kind)).toEqual(['claimed', 'returned', 'claimed', 'settled']);
    expect(await stack.store.read('b')).toMatchObject({ status: 'pending', releases: 1, crashes: 0 });
  });
});
