import { setTimeout as sleep } from 'node:timers/promises';
import { quantile, type Spread, spreadOf } from '../support/statistics.ts';
import { startProcess, type WorkerProcess } from '../support/worker-process.ts';
import type { ReportLine } from '../systems/report-line.ts';
import type { System } from '../systems/system.ts';
import { type Bench, freshQueue, job, onEach } from './scenario.ts';

/** The recovery of many jobs that dead workers left running, several times. */
export interface MassReclaim {
  readonly jobs: number;
  /** How often it was given up at the time limit; the figures then tell of what was done until then. */
  readonly givenUp: number;
  readonly jobsPerSecond: Spread | undefined;
  readonly requestsPerJob: Spread | undefined;
  readonly cpuMsPerJob: Spread | undefined;
  readonly rssMb: Spread | undefined;
  /** A bystander's healthy operation on the same store, while nothing else went on, and its longest during the recovery. */
  readonly quietMs: Spread | undefined;
  readonly heldUpMs: Spread | undefined;
}

interface OneReclaim {
  readonly jobs: number;
  readonly complete: boolean;
  readonly jobsPerSecond: number;
  readonly requestsPerJob: number;
  readonly cpuMsPerJob: number;
  readonly rssMb: number;
  readonly quietMs: number;
  readonly heldUpMs: number;
}

/** Leases last ten seconds; after it, and the skew, all have lapsed. */
const LONGEST_LEASE_MS = 13_000;
const LIMIT_MS = 30_000;
const LOOK_EVERY_MS = 25;
const ROUNDS = 5;

/**
 * Jobs left running by a dead worker, all lapsed, are recovered by one process while a bystander works on. The systems take
 * turns, so that a slow minute of the machine is not one system's misfortune.
 */
export async function massReclaim(
  bench: Bench,
  sizes: readonly number[],
): Promise<Record<string, readonly MassReclaim[]>> {
  const all: Record<string, OneReclaim[]> = {};
  for (let round = 1; round <= (bench.quick ? 1 : ROUNDS); round += 1)
    for (const size of sizes) {
      const title = `mass reclaim of ${size}, round ${round}`;
      const queues = await onEach(bench, `${title}: stranded`, (system) => strand(system, size));
      await sleep(LONGEST_LEASE_MS);
      const reclaimed = await onEach(bench, title, async (system) => {
        const queue = queues[system.name];
        if (queue === undefined) throw new Error('nothing was stranded');
        return oneReclaim(system, queue, size, bench.say);
      });
      for (const [name, one] of Object.entries(reclaimed)) all[name] = [...(all[name] ?? []), one];
    }
  return Object.fromEntries(
    Object.entries(all).map(([name, runs]) => [
      name,
      sizes.map((size) =>
        summed(
          size,
          runs.filter(({ jobs }) => jobs === size),
        ),
      ),
    ]),
  );
}

function summed(jobs: number, runs: readonly OneReclaim[]): MassReclaim {
  const over = (figure: (run: OneReclaim) => number) => spreadOf(runs.map(figure));
  return {
    jobs,
    givenUp: runs.filter(({ complete }) => !complete).length,
    jobsPerSecond: over((run) => run.jobsPerSecond),
    requestsPerJob: over((run) => run.requestsPerJob),
    cpuMsPerJob: over((run) => run.cpuMsPerJob),
    rssMb: over((run) => run.rssMb),
    quietMs: over((run) => run.quietMs),
    heldUpMs: over((run) => run.heldUpMs),
  };
}

/** Has a worker take the jobs and kills it. Returns their queue. */
async function strand(system: System, size: number): Promise<string> {
  const queue = await freshQueue(system, 'fast');
  await system.enqueue(
    queue,
    Array.from({ length: size }, () => job('sleep', 600_000)),
  );
  const dead = await startProcess(system, { mode: 'strand', queue, profile: 'fast', concurrency: size });
  await dead.kill();
  const left = await system.waiting(queue);
  if (left > 0) throw new Error(`${left} of ${size} jobs were never taken`);
  return queue;
}

async function oneReclaim(
  system: System,
  queue: string,
  size: number,
  say: Bench['say'],
): Promise<OneReclaim> {
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
  await system.discard?.(queue);
  const done = Math.max(1, reclaimed);
  const result = {
    jobs: size,
    complete: reclaimed >= size,
    jobsPerSecond: reclaimed / seconds,
    requestsPerJob: (after.requests - before.requests) / done,
    cpuMsPerJob: (after.cpuMs - before.cpuMs) / done,
    rssMb: after.rssBytes / 2 ** 20,
    quietMs: quantile(
      [...quiet.latenciesMs].sort((a, b) => a - b),
      0.99,
    ),
    heldUpMs: Math.max(0, ...meanwhile.latenciesMs),
  };
  say(
    `  ${size} jobs: ${Math.round(result.jobsPerSecond)} jobs/s, bystander held up ${Math.round(result.heldUpMs)} ms`,
  );
  return result;
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
