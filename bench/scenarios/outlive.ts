import { setTimeout as sleep } from 'node:timers/promises';
import { ageLeases, type Bench, freshQueue, job, onAll, onEach, worker } from './scenario.ts';

/** A healthy job of three lease lengths. */
export interface Outlive {
  readonly starts: number;
  readonly finally: string;
}

const LEASE_MS = 10_000;

/** One healthy job takes three leases while two workers are there; how often is it started? */
export const outlive = (bench: Bench, does: 'sleep' | 'burn') =>
  // Busy jobs would starve each other.
  (does === 'sleep' ? onAll : onEach)(
    bench,
    `a healthy job that outlives its lease (${does})`,
    async (system): Promise<Outlive> => {
      const queue = await freshQueue(system, 'fast');
      // Locks that never end within a job's life cannot be outlived: such a system is taken as it is.
      const ageing =
        system.leaseMs.fast > 60_000 ? { stop: async () => {} } : ageLeases(system, queue, 'fast', LEASE_MS);
      const workers = [await worker(system, queue, 'fast'), await worker(system, queue, 'fast')];
      const work = job(does, 3 * LEASE_MS);
      await system.enqueue(queue, [work]);
      let state = await system.state(queue, work.id);
      for (
        const limit = Date.now() + (bench.quick ? 75_000 : 120_000);
        Date.now() < limit && (state.status === 'waiting' || state.status === 'running');
      ) {
        await sleep(500);
        state = await system.state(queue, work.id);
      }
      // A second run may go on after the first one's end was kept.
      await sleep(2000);
      await ageing.stop();
      const starts = workers.reduce((sum, each) => sum + each.starts(work.id), 0);
      state = await system.state(queue, work.id);
      await Promise.all(workers.map((each) => each.kill()));
      return { starts, finally: state.status };
    },
  );
