import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PowertoolsTelemetry } from '../../lib/aws/telemetry.ts';
import type { Job } from '../../lib/protocol/job.ts';
import { createKeptTelemetry } from '../../lib/testing/kept-telemetry.ts';
import { freePort } from '../../lib/tools/dev/engines/free-port.ts';
import { startGuard } from '../../lib/worker/cells/host/guard.ts';
import type { WorkerProcess } from '../../lib/worker/hosts/process-host.ts';
import { startWorker } from '../../lib/worker/hosts/start-worker.ts';
import { isDeep } from '../support/depth.ts';
import { local } from '../support/engines.ts';
import { on } from '../support/faults.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

const JOBS = new URL('../support/cell-jobs.ts', import.meta.url);
const keys = { AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x', AWS_REGION: 'x' };
const PROGRAM = new URL('../../bin/leasehold.ts', import.meta.url).pathname;

let stack: WorkerStack;
let host: WorkerProcess | undefined;

beforeEach(async () => {
  stack = await startWorkerStack({
    ...{ leaseMs: 20_000, killAfterMs: 300, maxStallMs: 1500, processConcurrency: 10, cells: 1 },
    ...{ cellMemoryMb: 200, heartbeatMs: 1000 },
  });
});
afterEach(async () => {
  await host?.stop({ graceMs: 0 });
  host = undefined;
  await stack.close();
});

const worker = () => ({
  configuration: {
    settings: stack.settings,
    resources: {
      tableName: stack.tableName,
      queueUrl: stack.queueUrl,
      serviceName: 'test',
      eventBusName: 'default',
    },
  },
  dynamodb: { ...local, endpoint: stack.dynamodb.endpoint },
  sqs: { ...local, endpoint: stack.sqs.endpoint },
  signals: false,
});
const start = (telemetry?: PowertoolsTelemetry) => {
  host = startWorker({ ...worker(), jobs: JOBS, telemetry });
  return host;
};
const ended = (job: Job | undefined) =>
  job?.status === 'done' || job?.status === 'failed' || job?.status === 'cancelled';

describe('a host whose cell dies', () => {
  it('runs a job that stores new checkpoints again without the queue, however often, and keeps the cause of each end', async () => {
    const deaths = stack.settings.maxCrashes + 1;
    await stack.send('stubborn', { deaths }, { jobId: 'a' });
    start();
    const job = await stack.until('a', ended);
    expect(job).toMatchObject({ status: 'done', attempt: deaths + 1, errors: 0, result: { deaths } });
    expect(job.claims.map(({ outcome }) => outcome)).toEqual([...Array(deaths).fill('crashed'), 'done']);
    expect(job.claims[0]?.cause).toMatch(
      /^crashed: a handler, or what it called, ended the process with exit code 1/,
    );
    // One delivery, and no hint: the lease was never given up.
    expect(stack.sqs.counts.SendMessageBatch ?? 0).toBe(0);
  });

  it('quarantines a job that kills every cell, with the cause on its row', async () => {
    await stack.send('act', { act: 'exit' }, { jobId: 'a' });
    start();
    const job = await stack.until('a', ended);
    expect(job).toMatchObject({ status: 'failed', crashes: 3, errors: 0 });
    expect(job.lastError).toMatch(/^crashed: .*exit code 3/);
  });

  it('restarts the jobs of a cell beyond its memory without the queue, and charges the one that uses it', async () => {
    await stack.send('act', { act: 'buffers' }, { jobId: 'hog' });
    for (const jobId of ['b', 'c', 'd']) await stack.send('act', { act: 'return', ms: 1000 }, { jobId });
    start();
    expect(await stack.until('hog', ended)).toMatchObject({ status: 'failed', crashes: 3 });
    for (const jobId of ['b', 'c', 'd'])
      expect(await stack.until(jobId, ended)).toMatchObject({ status: 'done', crashes: 0, errors: 0 });
    expect(stack.sqs.counts.SendMessageBatch ?? 0).toBe(0);
  });
});

describe('the crash throttle', () => {
  const keptTelemetry = () => ({ ...createKeptTelemetry(), middleware: [], flush() {} });
  const sendPoison = (jobId: string) => stack.send('act', { act: 'exit' }, { jobId, maxCrashes: 1 });
  const failed = (jobId: string) => stack.until(jobId, (job) => job?.status === 'failed');

  it.runIf(isDeep)(
    'is pulled by three jobs that kill their cells, holds their type and no other, and lets go',
    async () => {
      const telemetry = keptTelemetry();
      for (const jobId of ['a', 'b', 'c']) await sendPoison(jobId);
      start(telemetry);
      await Promise.all(['a', 'b', 'c'].map(failed));
      expect(telemetry.total('CrashThrottleOn')).toBe(1);
      await stack.send('act', { act: 'return' }, { jobId: 'held' });
      await stack.send('stubborn', { deaths: 0 }, { jobId: 'free' });
      expect(await stack.until('free', ended)).toMatchObject({ status: 'done' });
      expect(await stack.until('held', ended)).toMatchObject({ status: 'done', attempt: 1 });
    },
  );
});

describe('a handler that does not stop', () => {
  it('is killed with its cell within killAfterMs of its signal, and its job ends as it was asked to', async () => {
    await stack.send('act', { act: 'ignoreSignal' }, { jobId: 'a' });
    start();
    await stack.until('a', (job) => job?.status === 'running');
    await stack.direct.store.cancel('a');
    expect(await stack.until('a', ended)).toMatchObject({ status: 'cancelled' });
    await expect.poll(() => host?.running).toBe(0);
  });
});

describe('the health of a worker', () => {
  const healthOf = (port: number) =>
    fetch(`http://127.0.0.1:${port}`).then(
      ({ status }) => status,
      () => 0,
    );
  const startAt = (port: number, jobs: string | URL = JOBS) => {
    host = startWorker({ ...worker(), jobs, healthPort: port });
    return host;
  };

  it('serves its counts in the format of Prometheus, and runs handlers inside of around', async () => {
    const port = await freePort();
    host = startWorker({
      ...{ ...worker(), metricsPort: port },
      jobs: new URL('../support/around-jobs.ts', import.meta.url),
    });
    await stack.send('told', {}, { jobId: 'around-1' });
    const done = await stack.until('around-1', (job) => job?.status === 'done');
    expect(done).toMatchObject({ result: { inside: 'told around-1 #1' } });
    const counts = () => fetch(`http://127.0.0.1:${port}/metrics`).then((reply) => reply.text());
    await expect.poll(counts).toMatch(/^leasehold_jobs_done_total\{service="[^"]+"\} 1$/m);
  });

  it('is bad while the table does not answer, while the queue does not, and from when it is told to stop', async () => {
    const port = await freePort();
    startAt(port);
    await expect.poll(() => healthOf(port)).toBe(200);
    stack.dynamodb.use(on('GetItem', { kind: 'reset' }));
    await expect.poll(() => healthOf(port), { interval: 200 }).toBe(503);
    stack.dynamodb.use();
    await expect.poll(() => healthOf(port), { interval: 200 }).toBe(200);
    stack.sqs.use(on('ReceiveMessage', { kind: 'reset' }));
    await expect.poll(() => healthOf(port), { interval: 200 }).toBe(503);
    stack.sqs.use();
    await expect.poll(() => healthOf(port), { interval: 200 }).toBe(200);
    await stack.send('act', { act: 'ignoreSignal', ms: 1000 }, { jobId: 'a' });
    await stack.until('a', (job) => job?.status === 'running');
    const stopping = host?.stop({ graceMs: 60_000 });
    expect(await healthOf(port)).toBe(503);
    await stopping;
  });

  it('is bad until a cell is ready', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'leasehold-health-'));
    const file = join(folder, 'jobs.mjs');
    writeFileSync(file, 'await new Promise(() => setInterval(() => {}, 1000));');
    const port = await freePort();
    startAt(port, file);
    await expect.poll(() => healthOf(port)).toBe(503);
    expect(stack.sqs.counts.ReceiveMessage ?? 0).toBe(0);
    rmSync(folder, { recursive: true });
  });
});

describe('leasehold work', () => {
  it('works while its health says so, and ends with 0 when it is told to', async () => {
    const port = await freePort();
    const folder = mkdtempSync(join(tmpdir(), 'leasehold-work-'));
    const child = spawn(process.execPath, [PROGRAM, 'work', JOBS.pathname, '--health-port', String(port)], {
      env: {
        ...{ ...process.env, ...stack.environment, ...keys },
        TMPDIR: folder,
        NODE_COMPILE_CACHE: undefined,
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const status = () =>
      fetch(`http://127.0.0.1:${port}`).then(
        (response) => response.status,
        () => 0,
      );
    await expect.poll(status).toBe(200);
    await stack.send('act', { act: 'return' }, { jobId: 'a' });
    expect(await stack.until('a', ended)).toMatchObject({ status: 'done' });
    // What the first cell compiled is kept for its successors, and gone with the host.
    const [compiled = ''] = readdirSync(folder).filter((name) => name.startsWith('leasehold-cells-'));
    expect(readdirSync(join(folder, compiled), { recursive: true }).length).toBeGreaterThan(20);
    // Any user of the machine can write into a shared one.
    expect(readdirSync(folder)).not.toContain('node-compile-cache');
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(readdirSync(folder)).not.toContain(compiled);
    startGuard(folder).close();
    await expect.poll(() => existsSync(folder)).toBe(false);
  });

  it('goes on when the reader of its log leaves, drains when told to, and ends with 1', async () => {
    const child = spawn(process.execPath, [PROGRAM, 'work', JOBS.pathname], {
      env: { ...process.env, ...stack.environment, ...keys },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const exit = once(child, 'exit');
    await once(child.stdout, 'data');
    child.stdout.destroy();
    child.stderr.destroy();
    await stack.send('act', { act: 'throw' }, { jobId: 'a', maxAttempts: 1 });
    expect(await stack.until('a', ended)).toMatchObject({ status: 'failed' });
    await stack.send('act', { act: 'write' }, { jobId: 'c' });
    expect(await stack.until('c', ended)).toMatchObject({ status: 'done', attempt: 1, crashes: 0 });
    await stack.send('act', { act: 'return', ms: 500 }, { jobId: 'b' });
    await stack.until('b', (job) => job?.status === 'running');
    child.kill('SIGTERM');
    expect(await exit).toEqual([1, null]);
    expect(await stack.until('b', ended)).toMatchObject({ status: 'done', attempt: 1 });
  });
});
