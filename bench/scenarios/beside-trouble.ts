import { setTimeout as sleep } from 'node:timers/promises';
import { startCrew } from '../support/crew.ts';
import { startProcess } from '../support/worker-process.ts';
import type { System } from '../systems/system.ts';
import { type FreshJobs, freshJobs } from './fresh-jobs.ts';
import { type Bench, freshQueue, job } from './scenario.ts';

/** How long fresh short jobs wait to be started, in ms, while others are in trouble and slots are free. */
export interface BesideTrouble extends FreshJobs {
  readonly trouble: Trouble;
  /** Long jobs that were started more than once meanwhile. */
  readonly suspects: number;
  /** What became of the job that hangs. */
  readonly stuck?: { readonly status: string; readonly starts: number; readonly crashes?: number };
  /** Processes that ended, and processes that gave no answer afterwards. */
  readonly ended: number;
  readonly hung: number;
}

const TROUBLES = ['none', 'a cell’s death', 'lapses', 'a job that hangs'] as const;
export type Trouble = (typeof TROUBLES)[number];

const PROCESSES = 3;
const SLOTS = 20;
/** Eight for each of six cells, and two slots of each are free. */
const LONG = 48;
const STRANDED = 8;
const PER_SECOND = 2;
const SECONDS = 25;
const MAX_STALL_MS = 5000;
const STUCK_LIMIT_MS = 60_000;

/** Three processes with long jobs, two short ones a second, and something that goes wrong. */
export async function besideTrouble(
  bench: Bench,
  leasehold: System,
  troubles: readonly Trouble[] = TROUBLES,
): Promise<BesideTrouble[]> {
  const results: BesideTrouble[] = [];
  for (const trouble of troubles) {
    const measured = await oneTrouble(leasehold, trouble);
    results.push(measured);
    bench.keep({ besideTrouble: results });
    bench.say(`fresh jobs beside ${trouble}: ${JSON.stringify(measured)}`);
  }
  return results;
}

async function oneTrouble(system: System, trouble: Trouble): Promise<BesideTrouble> {
  const queue = await freshQueue(system, 'fast');
  const long = Array.from({ length: LONG }, () => job('sleep', 300_000));
  const stuck = trouble === 'a job that hangs' ? job('spin') : undefined;
  if (trouble === 'lapses')
    await strand(
      system,
      queue,
      long.slice(0, STRANDED).map(({ id }) => id),
    );
  const crew = await startCrew(system, {
    ...{ queue, profile: 'fast', concurrency: SLOTS, processes: PROCESSES },
    settings: { maxStallMs: MAX_STALL_MS },
  });
  try {
    const begins = trouble === 'lapses' ? long.slice(STRANDED) : long;
    await system.enqueue(queue, begins);
    while (!begins.every(({ id }) => crew.starts(id) > 0)) await sleep(100);
    await sleep(1000);
    if (trouble === 'a cell’s death') await crew.killBusiestCell();
    if (stuck !== undefined) await system.enqueue(queue, [stuck]);
    const fresh = await freshJobs(system, queue, crew, { seconds: SECONDS, perSecond: PER_SECOND });
    return {
      ...{ trouble, ...fresh },
      suspects:
        trouble === 'lapses'
          ? long.slice(0, STRANDED).filter(({ id }) => crew.starts(id) > 0).length
          : long.filter(({ id }) => crew.starts(id) > 1).length,
      stuck: stuck && { ...(await endOf(system, queue, stuck.id)), starts: crew.starts(stuck.id) },
      ended: crew.replaced(),
      hung: await crew.hung(),
    };
  } finally {
    await crew.stop();
  }
}

/** Leaves jobs whose worker is gone and whose rows have a crash already, so that they run alone. */
async function strand(system: System, queue: string, ids: readonly string[]): Promise<void> {
  await system.enqueue(
    queue,
    ids.map((id) => ({ id, does: 'sleep', ms: 300_000 })),
  );
  const dead = await startProcess(system, { mode: 'strand', queue, profile: 'fast', concurrency: 1 });
  await dead.kill();
  for (const id of ids) await system.charge?.(queue, id, 1);
}

async function endOf(system: System, queue: string, id: string) {
  let state = await system.state(queue, id);
  for (const limit = Date.now() + STUCK_LIMIT_MS; Date.now() < limit && state.status !== 'failed'; ) {
    await sleep(250);
    state = await system.state(queue, id);
  }
  return { status: state.status, crashes: state.crashes };
}
