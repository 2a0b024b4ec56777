import type { JobStore, Random, Table } from '../protocol/ports.ts';
import { createJobStore } from '../protocol/store/job-store.ts';
import { sweep } from '../reaper/sweep.ts';
import { resolveSettings, type Settings } from '../settings/settings.ts';
import type { LeaseholdEvent } from '../wire/events.ts';
import { visibilityTimeoutMs } from '../wire/queues.ts';
import { createNoCells } from '../worker/cells/no-cells.ts';
import { trustTheClock } from '../worker/intake/clock-check.ts';
import type { Registry } from '../worker/registry.ts';
import { createCrashThrottle } from '../worker/run/crash-throttle.ts';
import { createHeartLoop } from '../worker/run/heart-loop.ts';
import type { WorkerParts } from '../worker/worker-parts.ts';
import { createFakeClock, type FakeClock } from './fake-clock.ts';
import { createFakeRandom } from './fake-random.ts';
import { createKeptTelemetry, type KeptTelemetry } from './kept-telemetry.ts';
import { killableCells } from './killable-cells.ts';
import { createMemoryQueue, type MemoryQueue } from './memory-queue.ts';
import { createMemoryTable, type MemoryTable } from './memory-table.ts';

/** A system in memory: fake clock, table and queue with the real worker and reaper. */
export interface TestStack {
  readonly settings: Settings;
  readonly clock: FakeClock;
  readonly table: MemoryTable;
  readonly queue: MemoryQueue;
  readonly telemetry: KeptTelemetry;
  readonly events: readonly LeaseholdEvent[];
  readonly store: JobStore;
  /** Creates another worker. @internal */
  worker(registry: Registry): TestWorker;
  /** Runs one sweep of the reaper. */
  sweep(): Promise<void>;
}

/** A test worker that can be cut off as if its machine had died. */
export interface TestWorker extends WorkerParts {
  /** From now on no request or reply arrives. */
  cutOff(): void;
  /** Kills the cell; the worker reruns its jobs. */
  killCell(): void;
}

export interface TestStackOptions {
  /** Settings that differ from the defaults. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** @internal */
  readonly random?: Random;
}

/** Creates a system in memory, for tests with several jobs or workers. */
export function createTestStack(options: TestStackOptions = {}): TestStack {
  const settings = resolveSettings(options.settings);
  const clock = createFakeClock();
  const random = options.random ?? createFakeRandom();
  const table = createMemoryTable();
  const queue = createMemoryQueue({ clock, visibilityTimeoutMs: visibilityTimeoutMs(settings) });
  const telemetry = createKeptTelemetry();
  const published: LeaseholdEvent[] = [];
  const events = { publish: async (more: readonly LeaseholdEvent[]) => void published.push(...more) };
  const storeFor = (actor: string, on: Table = table) =>
    createJobStore({ table: on, clock, random, settings, actor });
  let workers = 0;

  return {
    settings,
    clock,
    table,
    queue,
    telemetry,
    events: published,
    store: storeFor('operator'),
    worker(registry) {
      const name = `worker-${++workers}`;
      const line = { isCut: false };
      const killable = killableCells(createNoCells({ registry, settings, clock, telemetry }));
      const store = storeFor(name, severable(table, line));
      return {
        settings,
        clock,
        random,
        store,
        queue: severable(queue, line),
        telemetry,
        events,
        clockCheck: trustTheClock,
        worker: name,
        heart: createHeartLoop({
          clock,
          random,
          store,
          clockCheck: trustTheClock,
          onFailure: ({ jobId }, error) => telemetry.error('heartbeat failed', error, { jobId }),
        }),
        cells: killable.cells,
        crashThrottle: createCrashThrottle(clock, telemetry),
        killCell: killable.kill,
        cutOff: () => {
          line.isCut = true;
        },
      };
    },
    async sweep() {
      await sweep({ table, store: storeFor('reaper'), queue, telemetry, events, clock, random, settings });
    },
  };
}

/** Calls never resolve once cut off. */
function severable<T extends object>(whole: T, line: { readonly isCut: boolean }): T {
  return new Proxy(whole, {
    get(target, name, receiver) {
      const member: unknown = Reflect.get(target, name, receiver);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => (line.isCut ? new Promise(() => {}) : member.apply(target, args));
    },
  });
}
