import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lapsesOf, startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

const PROGRAM = join(import.meta.dirname, '..', '..', 'examples', 'worker-process.ts');
let stack: WorkerStack;
let folder: string;
const children: ReturnType<typeof fork>[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'leasehold-examples-'));
  // The examples' own leases are long; the engine and the reaper are not kept waiting by them.
  stack = await startWorkerStack({
    leaseMs: 30_000,
    minLeaseMs: 1000,
    reaperIntervalMs: 1000,
    minSweepIntervalMs: 50,
  });
  startProcess();
});
afterAll(async () => {
  for (const child of children.splice(0)) {
    if (child.exitCode !== null || child.signalCode !== null) continue;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await stack.close();
  rmSync(folder, { recursive: true, force: true });
});

/** The example process, with its reaper inside. */
function startProcess() {
  const child = fork(PROGRAM, {
    env: { ...process.env, ...stack.environment },
    stdio: 'ignore',
    execArgv: [],
  });
  children.push(child);
  return child;
}

describe('the example jobs in the example process', () => {
  it('count primes with the event loop standing still', async () => {
    await stack.send('count-primes', { below: 1_000_000, slice: 250_000 }, { jobId: 'primes' });
    const job = await stack.until('primes', (each) => each?.status === 'done');
    expect(job).toMatchObject({ result: { primes: 78_498 }, attempt: 1, checkpoint: { next: 750_000 } });
  });

  it('checksum a file in slices, through a killed worker, without starting over', async () => {
    const bytes = Buffer.from(Array.from({ length: 4_000_000 }, (_, i) => (i * 31) % 251));
    const path = join(folder, 'large.bin');
    writeFileSync(path, bytes);
    await stack.send('checksum-file', { path, sliceBytes: 40_000 }, { jobId: 'sum' });
    const halfway = await stack.until('sum', (job) => (job?.checkpointSeq ?? 0) >= 5);
    const [first] = children;
    first?.kill('SIGKILL');
    await stack.lapse('sum');
    startProcess();
    const job = await stack.until('sum', (each) => each?.status === 'done');
    expect(job).toMatchObject({
      result: { adler32: 'd6a2243f', bytes: bytes.length },
      attempt: 2,
    });
    expect(lapsesOf(job)).toBe(1);
    // 100 slices in all: a run that had started over would have stored every one of them again.
    expect(job.checkpointSeq).toBeLessThan(100 + halfway.checkpointSeq);
    expect(job.checkpointSeq).toBeLessThanOrEqual(101);
  });
});
