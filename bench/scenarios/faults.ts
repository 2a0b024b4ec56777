import { setTimeout as sleep } from 'node:timers/promises';
import { type Spread, spreadOf } from '../support/statistics.ts';
import { type FaultRun, oneFault } from './fleet.ts';
import type { FreshJobs } from './fresh-jobs.ts';
import { type Bench, onAll } from './scenario.ts';

/** What a fault costs the fleet of one system, in several rounds. */
export interface Faults {
  readonly everything: FaultSpread;
  readonly outage: FaultSpread;
}

interface FaultSpread {
  /** Until the last of the jobs was done, in ms; rounds in which some never were are left out. */
  readonly doneAfterMs: Spread | undefined;
  readonly rounds: number;
  /** Of all rounds: the fewest that were done, the most that failed, the most starts of one job. */
  readonly done: number;
  readonly failed: number;
  readonly mostStarts: number;
  /** This much of the lease was passed in the store, and is part of the figure. */
  readonly addedMs: number;
  /** In the two minutes after, of the last round. */
  readonly fresh?: FreshJobs;
}

const ROUNDS = 5;
/** So that the processes of one system do not start while another's are being counted in milliseconds. */
const APART_MS = 4000;

/** Every system at the same time: jobs and leases are waited for, and there is little to compute. */
export async function faults(bench: Bench): Promise<Record<string, Faults>> {
  const rounds = bench.trials ?? (bench.quick ? 1 : ROUNDS);
  return onAll(bench, 'fleet with a fault', async (system): Promise<Faults> => {
    await sleep(bench.systems.indexOf(system) * APART_MS);
    const runs = { everything: [] as FaultRun[], outage: [] as FaultRun[] };
    for (const fault of ['everything', 'outage'] as const)
      for (let round = 1; round <= rounds; round += 1) {
        const run = await oneFault(system, fault, { withFresh: fault === 'everything' });
        runs[fault].push(run);
        bench.say(`${system.title}, ${fault}, round ${round}: ${JSON.stringify(run)}`);
      }
    return { everything: spreadOver(runs.everything), outage: spreadOver(runs.outage) };
  });
}

function spreadOver(runs: readonly FaultRun[]): FaultSpread {
  return {
    doneAfterMs: spreadOf(
      runs.flatMap(({ doneAfterMs }) => (doneAfterMs === undefined ? [] : [doneAfterMs])),
    ),
    rounds: runs.length,
    done: Math.min(...runs.map(({ done }) => done)),
    failed: Math.max(...runs.map(({ failed }) => failed)),
    mostStarts: Math.max(...runs.map(({ mostStarts }) => mostStarts)),
    addedMs: Math.max(...runs.map(({ addedMs }) => addedMs)),
    fresh: runs.at(-1)?.fresh,
  };
}
