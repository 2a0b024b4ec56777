import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkerProcess } from '../support/worker-process.ts';
import type { JobState } from '../systems/system.ts';
import { ageLeases, type Bench, freshQueue, job, onAll, worker } from './scenario.ts';

/** A job that kills its process, and nine harmless ones beside it. */
export interface Poison {
  /** Processes that it killed before it was stopped. */
  readonly crashes: number;
  /** False when it was still being started again at the time limit. */
  readonly stopped: boolean;
  readonly neighbors: { readonly done: number; readonly failed: number; readonly unfinished: number };
  /** How often a harmless job was started, at most. */
  readonly mostStartsOfNeighbor: number;
}

const LIMIT_MS = 300_000;
const QUICK_LIMIT_MS = 90_000;

/** Ten jobs run in one process, which a supervisor starts again whenever it dies. */
export const poison = (bench: Bench) =>
  onAll(bench, 'poison job', async (system): Promise<Poison> => {
    const queue = await freshQueue(system, 'fast');
    const bad = job('die', 700);
    const harmless = Array.from({ length: 9 }, () => job('sleep', 3000));
    await system.enqueue(queue, [...harmless, bad]);
    const ageing = ageLeases(system, queue, 'fast', 10_000);
    const processes: WorkerProcess[] = [await worker(system, queue, 'fast', 10)];
    const limit = Date.now() + (bench.quick ? QUICK_LIMIT_MS : LIMIT_MS);
    let crashes = 0;
    let states: Record<'bad' | 'others', JobState[]> = { bad: [], others: [] };
    while (Date.now() < limit) {
      const current = processes.at(-1) as WorkerProcess;
      const died = await Promise.race([current.exited.then(() => true), sleep(500, false)]);
      if (died) {
        crashes += 1;
        processes.push(await worker(system, queue, 'fast', 10));
      }
      states = {
        bad: [await system.state(queue, bad.id)],
        others: await Promise.all(harmless.map(({ id }) => system.state(queue, id))),
      };
      if ([...states.bad, ...states.others].every(isOver)) break;
    }
    await ageing.stop();
    await processes.at(-1)?.kill();
    const done = harmless.filter(({ id }) =>
      processes.some((each) => each.lines.some((line) => line.event === 'end' && line.id === id)),
    );
    const failed = states.others.filter((state) => state.status === 'failed').length;
    return {
      crashes,
      stopped: states.bad.every(isOver),
      neighbors: { done: done.length, failed, unfinished: Math.max(0, 9 - done.length - failed) },
      mostStartsOfNeighbor: Math.max(
        ...harmless.map(({ id }) => processes.reduce((sum, each) => sum + each.starts(id), 0)),
      ),
    };
  });

const isOver = (state: JobState) => state.status !== 'waiting' && state.status !== 'running';
