import { setTimeout as sleep } from 'node:timers/promises';
import { quantile } from '../support/statistics.ts';
import { startProcess, type WorkerProcess } from '../support/worker-process.ts';
import type { ReportLine } from '../systems/report-line.ts';
import type { System } from '../systems/system.ts';
import { type Bench, freshQueue, job, onEach } from './scenario.ts';

/** The recovery of many jobs that dead workers left running. */
export interface MassReclaim {
  readonly jobs: number;
  /** False when it was given up at the time limit; the figures then tell of what was done until then. */
  readonly complete: boolean;
  readonly reclaimed: number;
  readonly seconds: number;
  readonly requestsPerJob: number;
  readonly cpuMsPerJob: number;
  readonly rssMb: number;
  /** A bystander's healthy operation on the same store, while nothing else went on and during the recovery. */
  readonly bystander: { readonly quietMs: number; readonly p99Ms: number; readonly longestMs: number };
}

const LIMIT_MS = 120_000;
const LOOK_EVERY_MS = 25;

/** Jobs left running by a dead worker, all lapsed, are recovered by one process while a bystander works on. */
export const massReclaim = (bench: Bench, sizes: readonly number[]) =>
  onEach(bench, 'mass reclaim', async (system) => {
    const results: MassReclaim[] = [];
    for (const size of sizes) {
      const result = await oneReclaim(system, size);
      bench.say(
        `  ${size} jobs: ${Math.round(result.reclaimed / result.seconds)} jobs/s, bystander held up ${Math.round(result.bystander.longestMs)} ms`,
      );
      results.push(result);
      if (!result.complete) break;
    }
    return results;
  });

async function oneReclaim(system: System, size: number): Promise<MassReclaim> {
  const queue = await freshQueue(system, 'fast');
  await system.enqueue(
    queue,
    Array.from({ length: size }, () => job('sleep', 600_000)),
  );
  const dead = await startProcess(system, { mode: 'strand', queue, profile: 'fast', concurrency: size });
  await dead.kill();
  const left = await system.waiting(queue);
  if (left > 0) throw new Error(`${left} of ${size} jobs were never taken`);
  if (system.passTime === undefined || system.renews.fast) await sleep(13_000);
  await system.passTime?.(queue, 'fast', 0);

  const bystander = await startProcess(system, { mode: 'bystand', queue, profile: 'fast', concurrency: 1 });
  await sleep(2000);
  const quiet = await bystander.stats();
  const reaper = await startProcess(system, { mode: 'reap', queue, profile: 'fast', concurrency: 1 });
  const before = await reaper.stats();
  const from = performance.now();
  const reclaimed = await (system.tellsReclaims ? told(reaper, size) : counted(system, queue, size));
  const seconds = (performance.now() - from) / 1000;
  const after = await reaper.stats();
  const meanwhile = await bystander.stats();
  await Promise.all([reaper.kill(), bystander.kill()]);
  const found = await counted(system, queue, reclaimed);
  if (found < reclaimed) throw new Error(`${reclaimed} jobs were said to be taken back, ${found} are there`);
  const done = Math.max(1, reclaimed);
  const waits = [...meanwhile.latenciesMs].sort((a, b) => a - b);
  return {
    jobs: size,
    complete: reclaimed >= size,
    reclaimed,
    seconds,
    requestsPerJob: (after.requests - before.requests) / done,
    cpuMsPerJob: (after.cpuMs - before.cpuMs) / done,
    rssMb: after.rssBytes / 2 ** 20,
    bystander: {
      quietMs: quantile(
        [...quiet.latenciesMs].sort((a, b) => a - b),
        0.99,
      ),
      p99Ms: quantile(waits, 0.99),
      longestMs: waits.at(-1) ?? 0,
    },
  };
}

/** Waits for the reaper's own word. */
async function told(reaper: WorkerProcess, size: number): Promise<number> {
  const sum = () =>
    reaper.lines.reduce((jobs, line) => jobs + (line.event === 'reclaimed' ? line.jobs : 0), 0);
  await reaper.seen((line): line is ReportLine => line.event === 'reclaimed' && sum() >= size, LIMIT_MS);
  return sum();
}

/** Looks at the store until all are there. */
async function counted(system: System, queue: string, size: number): Promise<number> {
  const from = performance.now();
  let reclaimed = 0;
  while (reclaimed < size && performance.now() - from < LIMIT_MS) {
    await sleep(LOOK_EVERY_MS);
    // A store that is busy with the recovery may refuse to be looked at.
    reclaimed = await system.waiting(queue).catch(() => reclaimed);
  }
  return reclaimed;
}
