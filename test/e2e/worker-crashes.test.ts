import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isDeep } from '../support/depth.ts';
import { type MortalProcess, programs, startMortalProcess } from '../support/mortal-process.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

let stack: WorkerStack;
let worker: MortalProcess | undefined;
let stopSweeping: () => Promise<void>;

beforeEach(async () => {
  stack = await startWorkerStack({ leaseMs: 3000, processConcurrency: 10 });
  stopSweeping = stack.sweepOften();
});
afterEach(async () => {
  await worker?.stop();
  worker = undefined;
  await stopSweeping();
  await stack.close();
});

const start = () => startMortalProcess({ program: programs.children, environment: stack.environment });
const good = Array.from({ length: 9 }, (_, i) => `good-${i}`);

describe('a worker process that dies', () => {
  it.each(isDeep ? (['exit', 'SIGKILL'] as const) : (['SIGKILL'] as const))(
    'fails a job that kills its cell by %s, and charges none of its nine neighbours',
    async (how) => {
      await Promise.all([
        ...good.map((jobId) => stack.send('harmless', { ms: 500 }, { jobId })),
        stack.send('poison', { how }, { jobId: 'poison' }),
      ]);
      worker = start();
      const failed = await stack.until('poison', (job) => job?.status === 'failed');
      const neighbours = await Promise.all(
        good.map((jobId) => stack.until(jobId, (job) => job?.status === 'done')),
      );
      expect(failed).toMatchObject({ crashes: 3, errors: 0 });
      expect(worker.deaths).toBe(0);
      expect(neighbours.map(({ crashes }) => crashes)).toEqual(good.map(() => 0));
    },
  );

  it('quarantines a job that never lets go of the event loop, and hangs itself not once', async () => {
    await stack.send('spin', {}, { jobId: 'spin' });
    worker = start();
    const job = await stack.until('spin', (each) => each?.status === 'failed');
    expect(job).toMatchObject({ crashes: 3, errors: 0, lastError: expect.stringMatching(/maxStallMs/) });
    expect(worker.deaths).toBe(0);
  });
});
