import { describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import type { Row } from '../../../lib/protocol/writes/row-write.ts';
import { claimWrite } from '../../../lib/protocol/writes/worker-writes.ts';
import { createTestStack } from '../../../lib/testing/test-stack.ts';
import { jobBody } from '../../../lib/wire/message.ts';
import type { MetricName } from '../../../lib/wire/metrics.ts';
import { ShuttingDown } from '../../../lib/worker/abort-reasons.ts';
import { defineJob, type JobContext } from '../../../lib/worker/define-job.ts';
import { createEngine } from '../../../lib/worker/intake/engine.ts';
import { createRegistry } from '../../../lib/worker/registry.ts';
import { claimOne, claimSent } from '../../support/claims.ts';

const LEASE_MS = 20_000;

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
  const claimed = await claimOne(stack, engine, jobBody('job', 1, { jobId: 'a' }));
  stack.table.put({ ...(await read('a')), ...changes, jobId: 'a' });
  const { rowAtClaim } = claimed.job;
  const job = { ...claimed.job, ...changes, rowAtClaim: rowAtClaim && { ...rowAtClaim, ...changes } };
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
  it('leaves its job to the reaper, which counts one lapse and nothing else', async () => {
    const { stack, end, row, down, pass } = await startRun(untilAborted);
    down(true);
    await pass(LEASE_MS + 5000);
    expect(await end).toBe('lost');
    down(false);
    await stack.sweep();
    expect(await row()).toMatchObject({ status: 'pending', lapses: 1, crashes: 0, errors: 0, releases: 0 });
    expect(stack.telemetry.total('LeasesLost')).toBe(1);
  });

  it('stores its handler’s result when it gets through, if no other worker has the job', async () => {
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

  it.each([
    ['retried', 'retry', 'of its own', { JobsRetried: 1 }],
    ['failed', 'fail', 'of its own', { JobsFailed: 1 }],
    ['done', 'complete', undefined, { JobsDone: 1 }],
  ] as const)(
    'learns from the next try that its job was %s before',
    async (ending, transition, error, counts) => {
      const { promise, resolve, reject } = Promise.withResolvers<string>();
      const { stack, end, down, pass, swallowAfter } = await startRun(
        () => promise,
        ending === 'failed' ? { maxAttempts: 1 } : {},
      );
      swallowAfter(transition);
      if (error === undefined) resolve('result');
      else reject(new Error(error));
      await pass(5000);
      down(false);
      await pass(5000);
      expect(await end).toBe(ending);
      expect(stack.telemetry.total('WritesFenced')).toBe(0);
      for (const [metric, count] of Object.entries(counts))
        expect(stack.telemetry.total(metric as MetricName)).toBe(count);
      expect(stack.telemetry.total('HintsSent')).toBe(ending === 'retried' ? 1 : 0);
    },
  );

  it('learns from the next try that its job was released before, though another worker has it by then', async () => {
    const { stack, end, down, pass, stopping, swallowAfter } = await startRun(untilAborted);
    swallowAfter('release');
    stopping.abort(new ShuttingDown('shutdown'));
    await pass(1000);
    const { apply } = stack.table;
    down(false);
    await apply(
      claimWrite(
        { job: { jobId: 'a' }, owner: 'other/1', skewMs: 0, typeLimits: stack.settings },
        { changedBy: 'other/2', now: stack.clock.now(), shards: 1, expiresAt: 0 },
      ),
    );
    await pass(5000);
    expect(await end).toBe('released');
    expect(stack.telemetry.total('HintsSent')).toBe(1);
  });

  it('gives up with its lease if its host must stop', async () => {
    const { end, down, pass, stopping } = await startRun(() => new Promise(() => {}));
    down(true);
    stopping.abort(new ShuttingDown('shutdown'));
    await pass(LEASE_MS + 2000);
    expect(await end).toBe('unknown');
  });
});

describe('a claim whose answer is lost as the store goes out of reach', () => {
  it('is released a second time where the first release came before it', async () => {
    const stack = createTestStack();
    const { apply } = stack.table;
    Object.assign(stack.table, {
      async apply(write: Parameters<typeof apply>[0]) {
        if (write.transition !== 'claim') return apply(write);
        void stack.clock.sleep(3000).then(() => apply(write));
        throw new Error('no answer');
      },
    });
    const idle = defineJob({ type: 'job', payload: z.unknown(), async run() {} });
    const engine = createEngine(stack.worker(createRegistry([idle])));
    const claims = await claimSent(stack, engine, jobBody('job', 1, { jobId: 'a' }));
    expect(claims).toMatchObject([{ kind: 'returned' }]);
    await stack.clock.advance(3000);
    expect(await stack.store.read('a')).toMatchObject({ status: 'running' });
    await stack.clock.advance(1000);
    expect(await stack.store.read('a')).toMatchObject({ status: 'pending', releases: 1, lapses: 0 });
    expect(stack.telemetry.total('HintsSent')).toBe(1);
    await engine.quiet();
  });
});
