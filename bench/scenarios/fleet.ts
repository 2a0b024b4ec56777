import { setTimeout as sleep } from 'node:timers/promises';
import { recoveryBound } from '../../lib/settings/recovery-bound.ts';
import { canContain, createContainer } from '../support/container.ts';
import { type Crew, startCrew } from '../support/crew.ts';
import { type CutOff, startCutOff } from '../support/cut-off.ts';
import { settingsOf } from '../systems/leasehold-settings.ts';
import type { BenchJob, System } from '../systems/system.ts';
import { type FreshJobs, freshJobs } from './fresh-jobs.ts';
import { type Bench, freshQueue, job } from './scenario.ts';

/** Forty harmless jobs on two processes, and what a fault costs them. */
export interface Fleet {
  readonly fault: Fault;
  /** Until the store said that the last of them was done; undefined when some never were. */
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

const FAULTS = ['none', 'a cell', 'a host', 'everything', 'outage', 'container, poison'] as const;
export type Fault = (typeof FAULTS)[number];

const PROCESSES = 2;
const SLOTS = 20;
const JOBS = 40;
const JOB_MS = 20_000;
const FAULT_AFTER_MS = 5000;
const OUTAGE_MS = 16_000;
const CONTAINER_MB = 512;
const GIVEN_UP_MS = 180_000;
const LOOK_MS = 250;
const FRESH = { seconds: 120, perSecond: 1 };

/** Two processes of twenty slots, leases of ten seconds; a process that ends is started again, as an orchestrator would. */
export async function fleet(
  bench: Bench,
  leasehold: System,
  faults: readonly Fault[] = FAULTS,
): Promise<Fleet[]> {
  const results: Fleet[] = [];
  let undisturbedMs = JOB_MS;
  for (const fault of faults) {
    if (fault === 'container, poison' && !canContain()) {
      bench.say(`fleet, ${fault}: skipped, control groups of version 1 cannot be made here`);
      continue;
    }
    const { addedMs: _, ...measured } = await oneFault(leasehold, fault);
    if (fault === 'none') undisturbedMs = measured.doneAfterMs ?? JOB_MS;
    const boundMs =
      1.5 * undisturbedMs + recoveryBound(settingsOf('fast')).usualMs + (fault === 'outage' ? OUTAGE_MS : 0);
    results.push({ ...measured, boundMs });
    bench.keep({ fleet: results });
    bench.say(`fleet, ${fault}: ${JSON.stringify(results.at(-1))}`);
  }
  return results;
}

/** What one run of one fault came to. */
export interface FaultRun extends Omit<Fleet, 'boundMs'> {
  /** This much of a lease was passed in the store, and is part of the figure. */
  readonly addedMs: number;
  readonly fresh?: FreshJobs;
}

/** Forty jobs on two processes of any system; with fresh jobs, one a second is sent for two minutes from the fault on. */
export async function oneFault(
  whole: System,
  fault: Fault,
  { withFresh = false }: { readonly withFresh?: boolean } = {},
): Promise<FaultRun> {
  const queue = await freshQueue(whole, 'fast');
  const { system, way } = await withCut(whole);
  const isContained = fault === 'container, poison';
  const crew = await startCrew(system, {
    ...{ queue, profile: 'fast', concurrency: SLOTS, processes: PROCESSES },
    container: isContained ? () => createContainer({ memoryMb: CONTAINER_MB }) : undefined,
  });
  try {
    const harmless = Array.from({ length: JOBS }, () => job('sleep', JOB_MS));
    const poison: BenchJob[] = isContained ? [{ ...job('die', 1000), how: 'native memory' }] : [];
    const from = Date.now();
    await whole.enqueue(queue, [...harmless.slice(0, JOBS / 2), ...poison, ...harmless.slice(JOBS / 2)]);
    await sleep(FAULT_AFTER_MS);
    await befall(crew, way, fault);
    const ageing = ageOnce(whole, queue);
    const coming = withFresh ? freshJobs(whole, queue, crew, FRESH) : undefined;
    const statusOf = async ({ id }: BenchJob) => {
      const state = await whole.state(queue, id);
      const isDone = state.status === 'gone' && crew.lastEnd(id) !== undefined;
      return { ...state, status: isDone ? 'done' : state.status };
    };
    const isOver = async () => {
      const states = await Promise.all([...harmless, ...poison].map(statusOf));
      return states.every(({ status }) => status === 'done' || status === 'failed');
    };
    while (Date.now() < from + GIVEN_UP_MS && !(await isOver())) await sleep(LOOK_MS);
    const overAt = Date.now();
    const states = await Promise.all(harmless.map(statusOf));
    const done = states.filter(({ status }) => status === 'done').length;
    const [killer] = poison;
    const aged = await ageing;
    const addedMs = aged !== undefined && aged.at < overAt ? aged.ms : 0;
    return {
      fault,
      doneAfterMs: done === JOBS ? overAt - from + addedMs : undefined,
      addedMs,
      done,
      failed: states.filter(({ status }) => status === 'failed').length,
      charged: states.reduce((sum, { crashes = 0 }) => sum + crashes, 0),
      mostStarts: Math.max(...harmless.map(({ id }) => crew.starts(id))),
      poison: killer === undefined ? undefined : (await whole.state(queue, killer.id)).status,
      fresh: await coming,
    };
  } finally {
    await crew.stop();
    await way.stop();
  }
}

/** The system with its store behind something that can be cut: of Leasehold's two the table, which it cannot do without. */
async function withCut(system: System): Promise<{ readonly system: System; readonly way: CutOff }> {
  const name = 'dynamodb' in system.stores ? 'dynamodb' : (Object.keys(system.stores)[0] ?? '');
  const way = await startCutOff(system.stores[name] ?? '');
  return { system: { ...system, stores: { ...system.stores, [name]: way.url } }, way };
}

/** Ends the leases from before now ten seconds later, where a system would hold them for hours: when, and by how much. */
async function ageOnce(
  system: System,
  queue: string,
): Promise<{ readonly at: number; readonly ms: number } | undefined> {
  const [lostAt, { leaseMs }] = [Date.now(), settingsOf('fast')];
  if (system.leaseMs.fast <= leaseMs) return undefined;
  await sleep(leaseMs);
  await system.passTime?.(queue, 'fast', Date.now() - lostAt);
  return { at: Date.now(), ms: system.leaseMs.fast - leaseMs };
}

async function befall(crew: Crew, way: CutOff, fault: Fault): Promise<void> {
  switch (fault) {
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
