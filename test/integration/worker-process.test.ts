import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { defineJob } from '../../lib/worker/define-job.ts';
import { startWorkerProcess, type WorkerProcess } from '../../lib/worker/process-host.ts';
import { createRegistry } from '../../lib/worker/registry.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

let stack: WorkerStack;
let host: WorkerProcess | undefined;

beforeEach(async () => {
  stack = await startWorkerStack({ shutdownGraceMs: 50, deadlineMarginMs: 1000, functionTimeoutMs: 60_000 });
});
afterEach(async () => {
  await host?.stop({ graceMs: 0 });
  host = undefined;
  await stack.close();
});

const double = defineJob({
  type: 'double',
  payload: z.object({ n: z.number() }),
  run: async ({ payload }) => ({ doubled: payload.n * 2 }),
});

describe('the process host', () => {
  it('runs a job and keeps its result', async () => {
    host = startWorkerProcess({ parts: stack.worker(createRegistry([double])), signals: false });
    await stack.send('double', { n: 21 }, { jobId: 'a' });
    const job = await stack.until('a', (j) => j?.status === 'done');
    expect(job).toMatchObject({ result: { doubled: 42 }, attempt: 1, errors: 0 });
  });
});
