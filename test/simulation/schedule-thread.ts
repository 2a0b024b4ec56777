import { parentPort, workerData } from 'node:worker_threads';
import { installLightAbort } from './light-abort.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import { plantedBugs } from './planted-bugs.ts';
import { simulateMany } from './simulate.ts';
import type { ThreadTask } from './simulate-in-threads.ts';

/** A thread of simulate-in-threads: is sent seeds, and answers with what became of their schedules. */
const { size, bug: name } = workerData as ThreadTask;
const bug = plantedBugs.find((each) => each.name === name);
if (name !== undefined && bug === undefined) throw new Error(`no planted bug is named '${name}'`);

installLightAbort();
parentPort?.on('message', async (seeds: readonly number[]) => {
  const outcomes: Outcome[] = [];
  await simulateMany(seeds, { size, bug }, (result) => {
    outcomes.push(outcomeOf(result));
    return undefined;
  });
  parentPort?.postMessage(outcomes);
});
