import { setTimeout as sleep } from 'node:timers/promises';
import { type Spread, spreadOf } from '../support/statistics.ts';
import { type Bench, freshQueue, job, onEach, worker } from './scenario.ts';

/** A full queue of jobs that do nothing, worked off by one process. */
export interface SteadyState {
  readonly concurrency: number;
  readonly jobsPerSecond: Spread | undefined;
  readonly requestsPerJob: Spread | undefined;
  readonly cpuMsPerJob: Spread | undefined;
}

/** A slow system is stopped here, and judged by what it has done. */
const LIMIT_MS = 10_000;
const CONCURRENCIES = [1, 10, 100] as const;

export const steadyState = (bench: Bench) =>
  onEach(bench, 'steady state', async (system) => {
    const results: SteadyState[] = [];
    for (const concurrency of CONCURRENCIES) {
      const jobs = (concurrency === 1 ? 200 : 2000) * (bench.quick ? 0.5 : 1);
      const runs: { perSecond: number; requests: number; cpuMs: number }[] = [];
      for (let run = 0; run < (bench.quick ? 3 : 5); run += 1) {
        const queue = await freshQueue(system, 'fast');
        await system.enqueue(
          queue,
          Array.from({ length: jobs }, () => job('nothing')),
        );
        const process = await worker(system, queue, 'fast', concurrency);
        const times = (event: 'start' | 'end') =>
          process.lines.flatMap((line) => (line.event === event ? [line.at] : []));
        for (const limit = Date.now() + LIMIT_MS; times('end').length < jobs && Date.now() < limit; )
          await sleep(50);
        const ends = times('end');
        // The last completions are still on their way.
        await sleep(300);
        const stats = await process.stats();
        const lasted = (ends.at(-1) ?? 0) - (times('start')[0] ?? 0);
        await process.kill();
        const done = Math.max(1, ends.length);
        runs.push({
          perSecond: done / (Math.max(1, lasted) / 1000),
          requests: stats.requests / done,
          cpuMs: stats.cpuMs / done,
        });
      }
      results.push({
        concurrency,
        jobsPerSecond: spreadOf(runs.map((run) => run.perSecond)),
        requestsPerJob: spreadOf(runs.map((run) => run.requests)),
        cpuMsPerJob: spreadOf(runs.map((run) => run.cpuMs)),
      });
    }
    return results;
  });
