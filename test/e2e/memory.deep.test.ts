import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { jobBody } from '../../lib/wire/message.ts';
import { PROCESS_HOST_BYTES, rssOf } from '../../lib/worker/cells/host/memory.ts';
import { startWorkerStack, type WorkerStack } from '../support/worker-stack.ts';

const JOBS = new URL('../support/cell-jobs.ts', import.meta.url).pathname;
const PROGRAM = new URL('../../bin/leasehold.ts', import.meta.url).pathname;
const MIB = 1024 * 1024;
const GROUP = `/sys/fs/cgroup/memory/leasehold-memory-${process.pid}`;
const JOBS_SENT = 600;
/** Enters the cgroup before it becomes the worker, whose heap is sized by the limit that it finds. */
const ENTER = `echo $$ > ${GROUP}/cgroup.procs; exec "$0" "$@"`;

/** Needs a writable cgroup v1 hierarchy, that is root on Linux. */
const hasCgroups = (() => {
  try {
    mkdirSync(GROUP);
    return true;
  } catch {
    return false;
  }
})();

let stack: WorkerStack;
let host: ChildProcess | undefined;
beforeEach(async () => {
  stack = await startWorkerStack({ processConcurrency: 100, cells: 2 });
});
afterEach(async () => {
  host?.kill('SIGKILL');
  await stack.close();
});

it.skipIf(!hasCgroups)(
  'a worker in a container of 512 MB does a backlog of large jobs within what is reserved for its host',
  async () => {
    writeFileSync(`${GROUP}/memory.limit_in_bytes`, String(512 * MIB));
    const place = 'x'.repeat(20_000);
    for (let n = 0; n < JOBS_SENT; n += 100)
      await stack.direct.queue.sendJobs(
        Array.from({ length: 100 }, (_, i) => ({
          body: jobBody('act', { act: 'return', ms: 5, place }, { jobId: `job-${n + i}` }),
        })),
      );
    const command = [process.execPath, PROGRAM, 'work', JOBS];
    const keys = { AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x', AWS_REGION: 'x' };
    host = spawn('/bin/sh', ['-c', ENTER, ...command], {
      env: { ...process.env, ...stack.environment, ...keys },
      stdio: 'ignore',
    });
    const { pid = 0 } = host;
    const stopSweeping = stack.sweepOften();
    let most = 0;
    const sampling = setInterval(() => {
      most = Math.max(most, rssOf(pid) ?? 0);
    }, 100);
    for (let n = 0; n < JOBS_SENT; n += 100)
      await stack.until(`job-${n + 99}`, (job) => job?.status === 'done');
    clearInterval(sampling);
    await stopSweeping();
    expect(Number(readFileSync(`${GROUP}/memory.failcnt`, 'latin1'))).toBe(0);
    expect(most / MIB).toBeLessThanOrEqual(PROCESS_HOST_BYTES / MIB);
    expect(most).toBeGreaterThan(0);
    host.kill('SIGTERM');
    await expect.poll(() => isRemoved(GROUP)).toBe(true);
  },
);

const isRemoved = (folder: string): boolean => {
  try {
    rmdirSync(folder);
    return true;
  } catch {
    return false;
  }
};
