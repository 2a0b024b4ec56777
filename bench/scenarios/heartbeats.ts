import { setTimeout as sleep } from 'node:timers/promises';
import { type Bench, freshQueue, job, onAll, worker } from './scenario.ts';

/** Requests of a worker process to its store while its jobs only wait. */
export interface Heartbeats {
  readonly jobs: number;
  /** Everything that it sends: heartbeats, polls, upkeep. */
  readonly requestsPerJobMinute: number;
  /** What is left when the same process without a job is subtracted. */
  readonly heartbeatsPerJobMinute: number;
  readonly leaseRenewed: boolean;
}

const JOBS = 20;
/** One more, so that the process goes on looking for jobs as the idle one does. */
const CONCURRENCY = JOBS + 1;

/** Sleeping jobs in one process with default settings, beside the same process without any. */
export function heartbeats(bench: Bench): Promise<Record<string, Heartbeats>> {
  const windowMs = bench.quick ? 30_000 : 120_000;
  return onAll(bench, 'heartbeats', async (system): Promise<Heartbeats> => {
    const [busyQueue, idleQueue] = [await freshQueue(system, 'default'), await freshQueue(system, 'default')];
    await system.enqueue(
      busyQueue,
      Array.from({ length: JOBS }, () => job('sleep', 600_000)),
    );
    const busy = await worker(system, busyQueue, 'default', CONCURRENCY);
    const idle = await worker(system, idleQueue, 'default', CONCURRENCY);
    for (const limit = Date.now() + 90_000; busy.starts() < JOBS && Date.now() < limit; ) await sleep(100);
    await sleep(2000);
    const from = await Promise.all([busy.stats(), idle.stats()]);
    await sleep(windowMs);
    const to = await Promise.all([busy.stats(), idle.stats()]);
    await Promise.all([busy.kill(), idle.kill()]);
    const perMinute = (i: 0 | 1) => ((to[i].requests - from[i].requests) * 60_000) / windowMs / JOBS;
    return {
      jobs: JOBS,
      requestsPerJobMinute: perMinute(0),
      heartbeatsPerJobMinute: Math.max(0, perMinute(0) - perMinute(1)),
      leaseRenewed: system.renews.default,
    };
  });
}
