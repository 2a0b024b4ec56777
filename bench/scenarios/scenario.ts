import type { Results } from '../report/results.ts';
import type { Container } from '../support/container.ts';
import { startProcess, type WorkerProcess } from '../support/worker-process.ts';
import { type BenchJob, jobId, type Profile, type System } from '../systems/system.ts';

/** What every scenario is given. */
export interface Bench {
  readonly systems: readonly System[];
  /** Fewer and smaller measurements, for a run of minutes. */
  readonly quick: boolean;
  /** Trials of what is tried again and again, where a run wants another number. */
  readonly trials?: number;
  say(text: string): void;
  /** Writes down what is known by now: a run that is cut off loses no more than what it was measuring. */
  keep(part: Results): void;
}

let queues = 0;

/** A queue of its own for each measurement. */
export async function freshQueue(system: System, profile: Profile): Promise<string> {
  queues += 1;
  const name = `bench-${process.pid}-${queues}`;
  await system.prepare(name, profile);
  return name;
}

export const job = (does: BenchJob['does'], ms = 0): BenchJob => ({ id: jobId(), does, ms });

export const worker = (
  system: System,
  queue: string,
  profile: Profile,
  concurrency = 1,
  container?: Container,
): Promise<WorkerProcess> => startProcess(system, { mode: 'work', queue, profile, concurrency }, container);

/** Keeps ending leases that a system would hold too long to be waited for, until stopped. */
export function ageLeases(
  system: System,
  queue: string,
  profile: Profile,
  olderThanMs: number,
): { stop(): Promise<void> } {
  const { passTime } = system;
  let on = passTime !== undefined;
  const loop = (async () => {
    while (on && passTime !== undefined) {
      await passTime.call(system, queue, profile, olderThanMs);
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  })();
  return {
    async stop() {
      on = false;
      await loop;
    },
  };
}

/** Measures each system in turn; one that fails is named, and the others go on. */
export async function onEach<T>(
  bench: Bench,
  title: string,
  measure: (system: System) => Promise<T>,
): Promise<Record<string, T>> {
  const results: Record<string, T> = {};
  for (const system of bench.systems) Object.assign(results, await measureOne(bench, title, system, measure));
  return results;
}

/** Measures all systems at the same time: for what mostly waits, and where nothing is timed. */
export async function onAll<T>(
  bench: Bench,
  title: string,
  measure: (system: System) => Promise<T>,
): Promise<Record<string, T>> {
  const all = await Promise.all(bench.systems.map((system) => measureOne(bench, title, system, measure)));
  return Object.assign({}, ...all);
}

async function measureOne<T>(
  bench: Bench,
  title: string,
  system: System,
  measure: (system: System) => Promise<T>,
): Promise<Record<string, T>> {
  const from = Date.now();
  const took = () => `${Math.round((Date.now() - from) / 1000)} s`;
  try {
    const result = await measure(system);
    bench.say(`${title}: ${system.title} (${took()})`);
    return { [system.name]: result };
  } catch (error) {
    bench.say(`${title}: ${system.title} failed: ${error instanceof Error ? error.message : error}`);
    return {};
  }
}
