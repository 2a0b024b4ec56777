import { setTimeout as sleep } from 'node:timers/promises';
import { recoveryBound } from '../../lib/settings/recovery-bound.ts';
import { canContain, createContainer } from '../support/container.ts';
import { type Crew, startCrew } from '../support/crew.ts';
import { type CutOff, startCutOff } from '../support/cut-off.ts';
import { settingsOf } from '../systems/leasehold-settings.ts';
import type { BenchJob, System } from '../systems/system.ts';
import { type Bench, freshQueue, job } from './scenario.ts';

/** Forty harmless jobs on two processes, and what a mishap costs them. */
export interface Fleet {
  readonly mishap: Mishap;
  /** Until the last of them was done; undefined when some never were. */
  readonly doneAfterMs: number | undefined;
  /** What is allowed: one and a half times the undisturbed time, the recovery bound, and the outage. */
  readonly boundMs: number;
  readonly done: number;
  readonly failed: number;
  /** Crashes that were charged to harmless jobs. */
  readonly charged: number;
  /** How often the one of them that was started most often was started. */
  readonly mostStarts: number;
  /** What became of the poisonous job. */
  readonly poison?: string;
}

const MISHAPS = ['none', 'a cell', 'a host', 'everything', 'outage', 'container, poison'] as const;
export type Mishap = (typeof MISHAPS)[number];

const PROCESSES = 2;
const SLOTS = 20;
const JOBS = 40;
const JOB_MS = 20_000;
const MISHAP_AFTER_MS = 5000;
const OUTAGE_MS = 16_000;
const CONTAINER_MB = 512;
const GIVEN_UP_MS = 180_000;

/** Two processes of twenty slots, leases of ten seconds; a process that ends is started again, as an orchestrator would. */
export async function fleet(
  bench: Bench,
  leasehold: System,
  mishaps: readonly Mishap[] = MISHAPS,
): Promise<Fleet[]> {
  const results: Fleet[] = [];
  let undisturbedMs = JOB_MS;
  for (const mishap of mishaps) {
    if (mishap === 'container, poison' && !canContain()) {
      bench.say(`fleet, ${mishap}: skipped, control groups of version 1 cannot be made here`);
      continue;
    }
    const measured = await oneMishap(leasehold, mishap);
    if (mishap === 'none') undisturbedMs = measured.doneAfterMs ?? JOB_MS;
    const boundMs =
      1.5 * undisturbedMs + recoveryBound(settingsOf('fast')).usualMs + (mishap === 'outage' ? OUTAGE_MS : 0);
    results.push({ ...measured, boundMs });
    bench.keep({ fleet: results });
    bench.say(`fleet, ${mishap}: ${JSON.stringify(results.at(-1))}`);
  }
  return results;
}

async function oneMishap(leasehold: System, mishap: Mishap): Promise<Omit<Fleet, 'boundMs'>> {
  const queue = await freshQueue(leasehold, 'fast');
  const way = await startCutOff(leasehold.stores.dynamodb ?? '');
  const system = { ...leasehold, stores: { ...leasehold.stores, dynamodb: way.url } };
  const isContained = mishap === 'container, poison';
  const crew = await startCrew(system, {
    ...{ queue, profile: 'fast', concurrency: SLOTS, processes: PROCESSES },
    container: isContained ? () => createContainer({ memoryMb: CONTAINER_MB }) : undefined,
  });
  try {
    const harmless = Array.from({ length: JOBS }, () => job('sleep', JOB_MS));
    const poison: BenchJob[] = isContained ? [{ ...job('die', 1000), how: 'native memory' }] : [];
    const from = Date.now();
    await system.enqueue(queue, [...harmless.slice(0, JOBS / 2), ...poison, ...harmless.slice(JOBS / 2)]);
    await sleep(MISHAP_AFTER_MS);
    await befall(crew, way, mishap);
    const limit = from + GIVEN_UP_MS;
    const isOver = async () => {
      const states = await Promise.all([...harmless, ...poison].map(({ id }) => system.state(queue, id)));
      return states.every(({ status }) => status === 'done' || status === 'failed');
    };
    while (Date.now() < limit && !(await isOver())) await sleep(250);
    const states = await Promise.all(harmless.map(({ id }) => system.state(queue, id)));
    const ends = harmless.map(({ id }) => crew.lastEnd(id));
    const done = states.filter(({ status }) => status === 'done').length;
    const [killer] = poison;
    return {
      mishap,
      doneAfterMs: done === JOBS ? Math.max(...ends.map((end) => (end ?? 0) - from)) : undefined,
      done,
      failed: states.filter(({ status }) => status === 'failed').length,
      charged: states.reduce((sum, { crashes = 0 }) => sum + crashes, 0),
      mostStarts: Math.max(...harmless.map(({ id }) => crew.starts(id))),
      poison: killer === undefined ? undefined : (await system.state(queue, killer.id)).status,
    };
  } finally {
    await crew.stop();
    await way.stop();
  }
}

async function befall(crew: Crew, way: CutOff, mishap: Mishap): Promise<void> {
  switch (mishap) {
    case 'a cell':
      return crew.killBusiestCell();
    case 'a host':
      return crew.killHosts(1);
    case 'everything':
      return crew.killHosts(PROCESSES);
    case 'outage':
      way.cut();
      await sleep(OUTAGE_MS);
      way.mend();
  }
}
