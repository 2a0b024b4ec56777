import { setTimeout as sleep } from 'node:timers/promises';
import { type Spread, spreadOf } from '../support/statistics.ts';
import { type Bench, freshQueue, job, onAll, worker } from './scenario.ts';

/** Requests of a worker process to its store while its jobs only wait. */
export interface Heartbeats {
  readonly jobs: number;
  /** Everything that it sends: heartbeats, polls, upkeep. */
  readonly requestsPerJobMinute: Spread | undefined;
  /** What is left when the same process without a job is subtracted. */
  readonly heartbeatsPerJobMinute: Spread | undefined;
  readonly leaseRenewed: boolean;
  /** The lease it was measured with. */
  readonly leaseMs?: number;
}

const JOBS = 20;
/** One more, so that the process goes on looking for jobs as the idle one does. */
const CONCURRENCY = JOBS + 1;
const WINDOWS = 5;

/** Sleeping jobs in one process with default settings, beside the same process without any. */
export function heartbeats(bench: Bench): Promise<Record<string, Heartbeats>> {
  const [windows, windowMs] = bench.quick ? [1, 30_000] : [WINDOWS, 60_000];
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
    const all: number[] = [];
    const beats: number[] = [];
    const requests = async () =>
      (await Promise.all([busy.stats(), idle.stats()])).map((each) => each.requests);
    let before = await requests();
    for (let window = 0; window < windows; window += 1) {
      await sleep(windowMs);
      const after = await requests();
      const perMinute = (i: 0 | 1) => (((after[i] ?? 0) - (before[i] ?? 0)) * 60_000) / windowMs / JOBS;
      all.push(perMinute(0));
      beats.push(Math.max(0, perMinute(0) - perMinute(1)));
      before = after;
    }
    await Promise.all([busy.kill(), idle.kill()]);
    return {
      jobs: JOBS,
      requestsPerJobMinute: spreadOf(all),
      heartbeatsPerJobMinute: spreadOf(beats),
      leaseRenewed: system.renews.default,
      leaseMs: system.leaseMs.default,
    };
  });
}
