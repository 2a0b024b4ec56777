import { afterEach, beforeEach, expect, it } from 'vitest';
import { type MortalProcess, programs, startMortalProcess } from '../support/mortal-process.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

let stack: WorkerStack;
let worker: MortalProcess | undefined;

beforeEach(async () => {
  stack = await startWorkerStack({ leaseMs: 30_000, processConcurrency: 10 });
});
afterEach(async () => {
  await worker?.stop();
  await stack.close();
});

it('fails a job that kills its cell, and charges none of its nine neighbors', async () => {
  const good = Array.from({ length: 9 }, (_, i) => `good-${i}`);
  await Promise.all([
    ...good.map((jobId) => stack.send('harmless', { ms: 500 }, { jobId })),
    stack.send('poison', {}, { jobId: 'poison' }),
  ]);
  worker = startMortalProcess({ program: programs.children, environment: stack.environment });
  const failed = await stack.until('poison', (job) => job?.status === 'failed');
  const neighbors = await Promise.all(
    good.map((jobId) => stack.until(jobId, (job) => job?.status === 'done')),
  );
  expect(failed).toMatchObject({ crashes: 3, errors: 0 });
  expect(worker.deaths).toBe(0);
  expect(neighbors.map(({ crashes }) => crashes)).toEqual(good.map(() => 0));
});
