import { startCrew } from '../support/crew.ts';
import { type FreshJobs, freshJobs } from './fresh-jobs.ts';
import { type Bench, freshQueue, job, onEach } from './scenario.ts';

/** A job that runs `while (true)`, nine harmless ones beside it, and fresh ones that come meanwhile. */
export interface Hung {
  /** What became of the job. */
  readonly status: string;
  readonly starts: number;
  /** Of two: those that gave no answer at the end. */
  readonly processesHung: number;
  readonly neighborsDone: number;
  readonly fresh: FreshJobs;
}

const PROCESSES = 2;
const SLOTS = 10;
const NEIGHBOURS = 9;
const NEIGHBOUR_MS = 3000;
/** Four leases: time enough for every system to give the job to its second process. */
const SECONDS = 45;
/** As short as the others' leases allow theirs to be noticed; two minutes by default. */
const MAX_STALL_MS = 5000;

/** Two processes, one at a time of all systems: what hangs takes a processor each. */
export const hung = (bench: Bench) =>
  onEach(bench, 'a handler that hangs', async (system): Promise<Hung> => {
    const queue = await freshQueue(system, 'fast');
    const crew = await startCrew(system, {
      ...{ queue, profile: 'fast', concurrency: SLOTS, processes: PROCESSES },
      settings: { maxStallMs: MAX_STALL_MS },
    });
    try {
      const stuck = job('spin');
      const neighbors = Array.from({ length: NEIGHBOURS }, () => job('sleep', NEIGHBOUR_MS));
      await system.enqueue(queue, [...neighbors, stuck]);
      const seconds = bench.quick ? SECONDS / 3 : SECONDS;
      const fresh = await freshJobs(system, queue, crew, { seconds, perSecond: 1 });
      const measured = {
        status: (await system.state(queue, stuck.id)).status,
        starts: crew.starts(stuck.id),
        processesHung: await crew.hung(),
        neighborsDone: neighbors.filter(({ id }) => crew.lastEnd(id) !== undefined).length,
        fresh,
      };
      bench.say(JSON.stringify(measured));
      return measured;
    } finally {
      await crew.stop();
    }
  });
