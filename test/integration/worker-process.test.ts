import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { defineJob } from '../../lib/worker/define-job.ts';
import {
  startWorkerProcess,
  type WorkerProcess,
  type WorkerProcessOptions,
} from '../../lib/worker/hosts/process-host.ts';
import { createRegistry, type Registry } from '../../lib/worker/registry.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

let stack: WorkerStack;
let host: WorkerProcess | undefined;
/** How many jobs ran at the same time as each, itself included. */
let company: Map<string, number>;
let running = 0;

beforeEach(async () => {
  company = new Map();
  running = 0;
  stack = await startWorkerStack({
    leaseMs: 30_000,
    processConcurrency: 10,
    deadlineMarginMs: 1000,
    functionTimeoutMs: 60_000,
  });
});
afterEach(async () => {
  await host?.stop({ graceMs: 0 });
  host = undefined;
  await stack.close();
});

const short = defineJob({
  type: 'short',
  payload: z.object({ ms: z.int() }),
  async run({ jobId, payload }) {
    running += 1;
    company.set(jobId, running);
    await sleep(payload.ms);
    company.set(jobId, Math.max(company.get(jobId) ?? 0, running));
    running -= 1;
    return { slept: payload.ms };
  },
});

const patient = defineJob({
  type: 'patient',
  payload: z.unknown(),
  async run(_job, { signal, save }) {
    await save('here');
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  },
});

const start = (
  registry: Registry = createRegistry([short, patient]),
  reaper?: WorkerProcessOptions['reaper'],
): WorkerProcess => {
  host = startWorkerProcess({ parts: stack.worker(registry), reaper, signals: false });
  return host;
};
const ids = (count: number) => Array.from({ length: count }, (_, i) => `job-${i}`);
const sendAll = (jobIds: readonly string[], ms: number) =>
  Promise.all(jobIds.map((jobId) => stack.send('short', { ms }, { jobId })));
const allDone = (jobIds: readonly string[]) =>
  Promise.all(jobIds.map((jobId) => stack.until(jobId, (job) => job?.status === 'done')));

describe('the process host', () => {
  it('runs up to its concurrency at the same time and keeps the results', async () => {
    const jobIds = ids(12);
    await sendAll(jobIds, 200);
    start();
    const jobs = await allDone(jobIds);
    expect(jobs.every((job) => job.status === 'done' && job.attempt === 1)).toBe(true);
    const most = Math.max(...company.values());
    expect(most).toBeGreaterThan(1);
    expect(most).toBeLessThanOrEqual(10);
  });

  it('runs a job of the largest payload that its queue takes, and rejects a larger one with its size', async () => {
    const largest = 1020 * 1024;
    const long = defineJob({
      type: 'long',
      payload: z.string(),
      run: async ({ payload }) => payload.length,
    });
    await stack.close();
    stack = await startWorkerStack({ maxPayloadBytes: largest });
    start(createRegistry([long]));
    // As JSON it has two quotes around it.
    await stack.send('long', 'x'.repeat(largest - 2), { jobId: 'largest' });
    await stack.send('long', 'x'.repeat(largest - 1), { jobId: 'larger' });
    const done = await stack.until('largest', (job) => job?.status === 'done');
    expect(done).toMatchObject({ result: largest - 2 });
    const rejected = await stack.until('bad:larger', (job) => job !== undefined);
    expect(rejected.lastError).toContain(`${largest + 1}`);
    expect(rejected.lastError).toContain(`${largest}`);
  });

  it('deletes a message as soon as its claim holds', async () => {
    await stack.send('patient', {}, { jobId: 'a' });
    start();
    await stack.until('a', (job) => job?.checkpointSeq === 1);
    await expect.poll(() => stack.sqs.counts.DeleteMessageBatch ?? 0).toBe(1);
    expect(await stack.read('a')).toMatchObject({ status: 'running' });
  });

  it('hands its jobs back with their checkpoints when it stops, for nothing, and sends their hints', async () => {
    await stack.send('patient', {}, { jobId: 'a' });
    start();
    await stack.until('a', (job) => job?.checkpointSeq === 1);
    await host?.stop();
    expect(await stack.read('a')).toMatchObject({
      status: 'pending',
      checkpoint: 'here',
      releases: 1,
      errors: 0,
      crashes: 0,
    });
    const [hint] = await stack.direct.queue.receive({ max: 1, waitSeconds: 5 });
    expect(hint?.body).toBe('{"hint":"a","type":"patient"}');
  });

  it('lets a job finish within the grace of a stop', async () => {
    await stack.send('short', { ms: 300 }, { jobId: 'a' });
    start();
    await stack.until('a', (job) => job?.status === 'running');
    await host?.stop({ graceMs: 10_000 });
    expect(await stack.read('a')).toMatchObject({ status: 'done', attempt: 1 });
  });

  it('starts and stops the reaper that it was given', async () => {
    const calls: string[] = [];
    const reaper = { start: async () => void calls.push('start'), stop: async () => void calls.push('stop') };
    await start(undefined, reaper).stop();
    expect(calls).toEqual(['start', 'stop']);
  });
});
