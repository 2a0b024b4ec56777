import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { TimedOut } from '../../lib/worker/abort-reasons.ts';
import type { ComposeOptions } from '../../lib/worker/compose-worker.ts';
import { defineJob, type JobContext, type JobOptions } from '../../lib/worker/define-job.ts';
import { createEngine } from '../../lib/worker/intake/engine.ts';
import { createRegistry } from '../../lib/worker/registry.ts';
import type { Ending } from '../../lib/worker/run/claim-endings.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

const LEASE_MS = 2000;
let stack: WorkerStack;

beforeEach(async () => {
  stack = await startWorkerStack({ leaseMs: LEASE_MS, skewMs: 100 });
});
afterEach(() => stack.close());

const aborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

type Handler = (context: JobContext) => Promise<string | undefined>;

/** Sends one job and runs it once, as a host would. */
async function runOnce(
  options: JobOptions,
  handler: Handler,
  overrides: Partial<ComposeOptions> = {},
): Promise<Ending> {
  const type = defineJob({
    ...options,
    type: 'job',
    payload: z.unknown(),
    run: (_job, context) => handler(context),
  });
  const parts = stack.worker(createRegistry([type]), overrides);
  const engine = createEngine(parts);
  await stack.send('job', {}, { jobId: 'job' });
  const [message] = await parts.queue.receive({ max: 1, waitSeconds: 5 });
  const opened = message && (await engine.open(message));
  if (opened?.kind !== 'claimable') throw new Error('the message was not claimable');
  const [claimed] = await engine.claim([opened]);
  if (claimed?.kind !== 'claimed') throw new Error('the job was not claimed');
  return engine.run(claimed, { stopping: new AbortController().signal, releaseWithinMs: 500 });
}

const updates = () => stack.dynamodb.counts.UpdateItem ?? 0;

describe('the heart', () => {
  it('sends no beat for a fixed lease, which ends on time', async () => {
    const end = await runOnce({ lease: { ms: LEASE_MS, fixed: true } }, ({ signal }) => aborted(signal));
    expect(end).toBe('lost');
    expect(updates()).toBe(1);
  });

  it('renews a lease that its job outlives, and no more once the job is over', async () => {
    const end = await runOnce({}, async () => {
      await sleep(2 * LEASE_MS);
      return undefined;
    });
    expect(end).toBe('done');
    const beats = updates() - 2;
    expect(beats).toBeGreaterThanOrEqual(4);
    await sleep(LEASE_MS);
    expect(updates() - 2).toBe(beats);
  });

  it('stops for an attempt that is too old, which is charged as an error', async () => {
    let seen: unknown;
    const end = await runOnce({ maxRunMs: 1000 }, ({ signal }) => {
      signal.addEventListener('abort', () => {
        seen = signal.reason;
      });
      return aborted(signal);
    });
    expect(end).toBe('retried');
    expect(seen).toBeInstanceOf(TimedOut);
    expect(seen).toMatchObject({ kind: 'overrun' });
    expect(await stack.read('job')).toMatchObject({ status: 'pending', errors: 1, crashes: 0 });
  });

  it('stops for a handler that reports no progress, and not for one that does', async () => {
    const end = await runOnce({ progressTimeoutMs: 500 }, async ({ signal, progress }) => {
      for (let step = 0; step < 5; step++) {
        await sleep(200);
        signal.throwIfAborted();
        progress({ step });
      }
      return aborted(signal);
    });
    expect(end).toBe('retried');
    expect(await stack.read('job')).toMatchObject({ errors: 1, progress: { step: expect.any(Number) } });
    expect((await stack.read('job'))?.lastError).toMatch(/^TimedOut: no progress was reported/);
  });

  it('tells a handler whose job was taken away, and its result is refused', async () => {
    const end = await runOnce({}, async ({ signal }) => {
      await stack.direct.store.takeBack('job');
      await aborted(signal).catch(() => {});
      return 'of no use any more';
    });
    expect(end).toBe('lost');
    expect(await stack.read('job')).toMatchObject({ status: 'pending', attempt: 1, releases: 1 });
  });
});
