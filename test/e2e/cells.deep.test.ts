import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Job } from '../../lib/protocol/job.ts';
import { isAlive } from '../support/is-alive.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

const JOBS = new URL('../support/cell-jobs.ts', import.meta.url).pathname;
const PROGRAM = new URL('../../bin/leasehold.ts', import.meta.url).pathname;
const KILL_AFTER_MS = 500;
const NINE = Array.from({ length: 9 }, (_, i) => `harmless-${i}`);

let stack: WorkerStack;
let host: ChildProcess | undefined;
const folder = mkdtempSync(join(tmpdir(), 'leasehold-cells-'));
const journal = join(folder, 'journal');

beforeEach(async () => {
  stack = await startWorkerStack({
    ...{ leaseMs: 6000, killAfterMs: KILL_AFTER_MS, processConcurrency: 10, cells: 1, cellMemoryMb: 200 },
    ...{ maxStallMs: 1500 },
  });
});
afterEach(async () => {
  host?.kill('SIGKILL');
  host = undefined;
  await stack.close();
  rmSync(journal, { force: true });
});

const start = (): ChildProcess => {
  host = spawn(process.execPath, [PROGRAM, 'work', JOBS], {
    env: {
      ...process.env,
      ...stack.environment,
      ...{ AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x', AWS_REGION: 'x' },
    },
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  return host;
};
const isOver = (job: Job | undefined) => job?.status === 'done' || job?.status === 'failed';
const nineAreDone = async () => {
  for (const jobId of NINE)
    expect(await stack.until(jobId, isOver)).toMatchObject({ status: 'done', errors: 0, crashes: 0 });
};

describe('nine harmless jobs in one cell', () => {
  it.each([
    ['that ends the process', 'return', { act: 'exit' }],
    ['whose exception names the wrong job', 'usePool', { act: 'poisonPool' }],
    ['that exhausts memory', 'return', { act: 'buffers' }],
    ['that never gives way', 'return', { act: 'spin' }],
  ])('are done and not charged next to one %s, which is quarantined', async (_, act, poison) => {
    await stack.send('act', poison, { jobId: 'poison' });
    for (const jobId of NINE) await stack.send('act', { act, ms: 1500 }, { jobId });
    start();
    expect(await stack.until('poison', isOver)).toMatchObject({ status: 'failed', crashes: 3 });
    await nineAreDone();
  });

  it('are done and not charged beside the timer of a finished job that throws', async () => {
    await stack.send('act', { act: 'leaveTimer', ms: 600 }, { jobId: 'poison' });
    for (const jobId of NINE) await stack.send('act', { act: 'return', ms: 2000 }, { jobId });
    start();
    expect(await stack.until('poison', isOver)).toMatchObject({ status: 'done', crashes: 0 });
    await nineAreDone();
  });

  it('are done and not charged where every job leaks a little', async () => {
    const leaks = Array.from({ length: 40 }, (_, i) => `leak-${i}`);
    for (const jobId of leaks) await stack.send('act', { act: 'leak', mb: 8 }, { jobId });
    for (const jobId of NINE) await stack.send('act', { act: 'return', ms: 500 }, { jobId });
    start();
    for (const jobId of leaks)
      expect(await stack.until(jobId, isOver)).toMatchObject({ status: 'done', crashes: 0 });
    await nineAreDone();
  });
});

it('a job that stores new checkpoints between deaths is done after fifty of them', async () => {
  await stack.send('stubborn', { deaths: 50 }, { jobId: 'a' });
  start();
  expect(await stack.until('a', isOver)).toMatchObject({ status: 'done', result: { deaths: 50 }, errors: 0 });
});

describe('a worker that is stopped past its lease and goes on', () => {
  it.each(['effects', 'ignoreSignal'] as const)(
    'has no effect after its signal, and its cell is dead soon (%s)',
    async (act) => {
      await stack.send('act', { act, ms: 600_000, journal }, { jobId: 'a' });
      const { pid = 0 } = start();
      await stack.until('a', (job) => job?.status === 'running');
      await expect.poll(() => linesOf(journal).length).toBeGreaterThan(0);
      const cells = [...new Set(linesOf(journal).map((line) => line.pid))];
      for (const each of [pid, ...cells]) process.kill(each, 'SIGSTOP');
      // By the clock, not on the row: the cell has to see for itself that its lease is over.
      await sleep(stack.settings.leaseMs + stack.settings.skewMs);
      const stopSweeping = stack.sweepOften();
      await stack.until('a', (job) => job?.status !== 'running');
      await stopSweeping();
      // Nobody is to run it again: what happens from now on is the old run's.
      await stack.purge();
      const before = linesOf(journal).length;
      const wokenAt = Date.now();
      for (const each of [...cells, pid]) process.kill(each, 'SIGCONT');
      // One that heeds its signal needs no killing; it is given the time in which it could do harm.
      if (act === 'effects') await sleep(2 * KILL_AFTER_MS);
      else await expect.poll(() => cells.some(isAlive), { timeout: 30_000, interval: 20 }).toBe(false);
      expect(linesOf(journal).filter(({ at, effect }) => effect && at > wokenAt + 1).length).toBe(0);
      expect(linesOf(journal).length - before).toBeLessThanOrEqual(1);
      expect(isAlive(pid)).toBe(true);
      host?.kill('SIGTERM');
      await once(host as ChildProcess, 'exit');
    },
  );
});

function linesOf(file: string): { readonly pid: number; readonly at: number; readonly effect?: boolean }[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  } catch {
    return [];
  }
}
