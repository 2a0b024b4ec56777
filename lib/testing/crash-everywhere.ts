import type { StandardSchemaV1 } from '@standard-schema/spec';
import type { FinishedJob } from '../protocol/job.ts';
import type { JobDefinition, Schema } from '../worker/define-job.ts';
import { type TestJobOptions, testJob } from './test-job.ts';
import type { TestWorker } from './test-stack.ts';

/** A place at which a worker can die. `before`: the call was not made. `after`: it was, but nobody saw the result. */
export interface CrashPoint {
  /** `store.claim`, `store.checkpoint`, `world.charge` … */
  readonly call: string;
  readonly when: 'before' | 'after';
}

export interface CrashEverywhereOptions<
  World extends object,
  Payload extends Schema,
  Checkpoint extends Schema,
> extends Omit<TestJobOptions, 'alter'> {
  /** A new stand-in for everything outside that the handler touches: each of its asynchronous calls is a place to die. */
  readonly world: () => World;
  /** The job, made with such a world. */
  readonly job: (world: World) => JobDefinition<string, Payload, Checkpoint>;
  readonly payload: StandardSchemaV1.InferInput<Payload>;
  /** Throws if the world is not as it must be once the job is finished. `crash` is undefined in the run without any. */
  readonly check: (
    world: World,
    finished: FinishedJob,
    crash: CrashPoint | undefined,
  ) => void | Promise<void>;
}

/** More places than any handler under test should have. */
const MOST_POINTS = 10_000;

/**
 * Kills the worker at each await in turn, lets another worker finish the job, and checks the outcome every time: a handler
 * that passes survives a crash at any point. Returns the places at which it was killed.
 */
export async function crashEverywhere<
  World extends object,
  Payload extends Schema,
  Checkpoint extends Schema,
>(options: CrashEverywhereOptions<World, Payload, Checkpoint>): Promise<readonly CrashPoint[]> {
  const asynchronous = new Set<string>();
  await live(options, asynchronous, Number.POSITIVE_INFINITY);
  const points: CrashPoint[] = [];
  while (points.length < MOST_POINTS) {
    const point = await live(options, asynchronous, points.length);
    if (point === undefined) return points;
    points.push(point);
  }
  throw new Error(`the handler has more than ${MOST_POINTS} places to die; make it smaller`);
}

/** One life of the job, with a crash at the place of this number. Undefined when the life had fewer places. */
async function live<World extends object, Payload extends Schema, Checkpoint extends Schema>(
  options: CrashEverywhereOptions<World, Payload, Checkpoint>,
  asynchronous: Set<string>,
  crashAt: number,
): Promise<CrashPoint | undefined> {
  const { world: createWorld, job, payload, check, ...rest } = options;
  const world = createWorld();
  let reached = 0;
  let crashed: CrashPoint | undefined;
  let crash = (): Promise<never> => new Promise(() => {});
  const reach = async (point: CrashPoint): Promise<void> => {
    if (reached++ !== crashAt) return;
    crashed = point;
    await crash();
  };
  const deadly = <T extends object>(whole: T, name: string) => mortal(whole, name, asynchronous, reach);
  const tested = testJob(job(deadly(world, 'world')), payload, {
    ...rest,
    alter(worker: TestWorker, end) {
      crash = end;
      return { ...worker, store: deadly(worker.store, 'store'), queue: deadly(worker.queue, 'queue') };
    },
  });
  try {
    await check(world, await tested.finish(), crashed);
  } catch (error) {
    const where = crashed === undefined ? 'without a crash' : `after a crash ${crashed.when} ${crashed.call}`;
    throw new Error(`${where}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
  return crashed;
}

/**
 * The same object, with a place to die before and after each of its asynchronous calls. Which calls are asynchronous is
 * learned from the first life: one that returns its value at once leaves no room for a crash.
 */
function mortal<T extends object>(
  whole: T,
  name: string,
  asynchronous: Set<string>,
  reach: (point: CrashPoint) => Promise<void>,
): T {
  return new Proxy(whole, {
    get(target, key, receiver) {
      const member: unknown = Reflect.get(target, key, receiver);
      const call = `${name}.${String(key)}`;
      if (typeof member === 'object' && member !== null) return mortal(member, call, asynchronous, reach);
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
