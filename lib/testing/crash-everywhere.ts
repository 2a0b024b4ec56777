import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { FinishedJob } from '../protocol/job.ts';
import type { JobDefinition, Schema } from '../worker/define-job.ts';
import { dieIn, type TestJobOptions, testJob } from './test-job.ts';
import type { TestWorker } from './test-stack.ts';

/** Where a worker can die: before a call, or after it but before its result arrives. Cells die only in handler code. */
export interface CrashPoint {
  /** `cell`: its host reruns the job. `host`: the whole worker is gone. */
  readonly dies: 'cell' | 'host';
  /** `store.claim`, `store.checkpoint`, `world.charge` … */
  readonly call: string;
  readonly when: 'before' | 'after';
}

/** A job, the world it touches, and what must hold afterwards. */
export interface CrashEverywhereOptions<
  World extends object,
  Payload extends Schema,
  Checkpoint extends Schema,
> extends Omit<TestJobOptions, 'alter'> {
  /** A fresh fake of everything the handler touches; each async call is a crash point. */
  readonly world: () => World;
  readonly job: (world: World) => JobDefinition<string, Payload, Checkpoint>;
  readonly payload: StandardSchemaV1.InferInput<Payload>;
  /** Throws if the world is wrong after the job finished. `crash` is undefined in the run without one. */
  readonly check: (
    world: World,
    finished: FinishedJob,
    crash: CrashPoint | undefined,
  ) => void | Promise<void>;
}

const MOST_POINTS = 10_000;

/** Crashes the worker, then only the cell, at each await, lets the job finish, checks the outcome, and returns the crash points. */
export async function crashEverywhere<
  World extends object,
  Payload extends Schema,
  Checkpoint extends Schema,
>(options: CrashEverywhereOptions<World, Payload, Checkpoint>): Promise<readonly CrashPoint[]> {
  const asynchronous = new Set<string>();
  await runOnce(options, asynchronous, { dies: 'host', crashAt: Number.POSITIVE_INFINITY });
  const points: CrashPoint[] = [];
  for (const dies of ['host', 'cell'] as const)
    for (let crashAt = 0; ; crashAt++) {
      const point = await runOnce(options, asynchronous, { dies, crashAt });
      if (point === undefined) break;
      points.push(point);
      if (points.length === MOST_POINTS)
        throw new Error(`the handler has more than ${MOST_POINTS} crash points; make it smaller`);
    }
  return points;
}

/** Undefined if the run had fewer crash points. */
async function runOnce<World extends object, Payload extends Schema, Checkpoint extends Schema>(
  options: CrashEverywhereOptions<World, Payload, Checkpoint>,
  asynchronous: Set<string>,
  { dies, crashAt }: { readonly dies: CrashPoint['dies']; readonly crashAt: number },
): Promise<CrashPoint | undefined> {
  const { world: createWorld, job, payload, check, ...rest } = options;
  const world = createWorld();
  let reached = 0;
  let crashed: CrashPoint | undefined;
  let crash = (_where: 'handler' | 'store'): Promise<void> => new Promise(() => {});
  const reach = async (place: Pick<CrashPoint, 'call' | 'when'>): Promise<void> => {
    const isInWorld = place.call.startsWith('world.');
    if (dies === 'cell' && !isInWorld && place.call !== 'store.checkpoint') return;
    if (reached++ !== crashAt) return;
    crashed = { dies, ...place };
    await crash(isInWorld ? 'handler' : 'store');
  };
  const crashable = <T extends object>(whole: T, name: string) =>
    withCrashPoints(whole, name, asynchronous, reach);
  const tested = testJob(job(crashable(world, 'world')), payload, {
    ...rest,
    alter(worker: TestWorker, end) {
      crash = dies === 'host' ? end : (where) => dieIn(where, worker);
      return { ...worker, store: crashable(worker.store, 'store'), queue: crashable(worker.queue, 'queue') };
    },
  });
  try {
    await check(world, await tested.finish(), crashed);
  } catch (error) {
    const where =
      crashed === undefined
        ? 'without a crash'
        : `after the death of a ${crashed.dies} ${crashed.when} ${crashed.call}`;
    throw new Error(`${where}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  return crashed;
}

/** The first run identifies calls by their promises. */
function withCrashPoints<T extends object>(
  whole: T,
  name: string,
  asynchronous: Set<string>,
  reach: (place: Pick<CrashPoint, 'call' | 'when'>) => Promise<void>,
): T {
  return new Proxy(whole, {
    get(target, key, receiver) {
      const member: unknown = Reflect.get(target, key, receiver);
      const call = `${name}.${String(key)}`;
      if (typeof member === 'object' && member !== null)
        return withCrashPoints(member, call, asynchronous, reach);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        const make = () => member.apply(target, args) as unknown;
        if (!asynchronous.has(call)) {
          const result = make();
          if (result instanceof Promise) asynchronous.add(call);
          return result;
        }
        return (async () => {
          await reach({ call, when: 'before' });
          const result = await make();
          await reach({ call, when: 'after' });
          return result;
        })();
      };
    },
  });
}
