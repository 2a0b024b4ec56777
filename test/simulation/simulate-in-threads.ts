import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import type { Outcome } from './outcome.ts';
import type { Size } from './scenario.ts';

/** What a thread is started with. */
export interface ThreadTask {
  readonly size: Size;
  /** The name of a planted bug: the bug itself is code, which cannot be handed over. */
  readonly bug?: string;
}

export interface ThreadOptions extends ThreadTask {
  /** @default - one for each core */
  readonly threads?: number;
}

/** Seeds that a thread is given at a time: few enough that all threads end at about the same time. */
const CHUNK = 100;
const YOUNG_MB = 192;
const program = new URL('./schedule-thread.ts', import.meta.url);

/**
 * Runs a schedule for each seed, spread over threads. Outcomes come in any order, but which schedule a seed stands for does
 * not depend on where it runs. `onOutcome` returns true to stop early.
 */
export async function simulateInThreads(
  seeds: Iterable<number>,
  { threads = availableParallelism(), ...task }: ThreadOptions,
  onOutcome: (outcome: Outcome) => boolean | undefined,
): Promise<void> {
  const iterator = seeds[Symbol.iterator]();
  let stopped = false;
  const nextChunk = (): number[] => {
    const chunk: number[] = [];
    while (!stopped && chunk.length < CHUNK) {
      const next = iterator.next();
      if (next.done) break;
      chunk.push(next.value);
    }
    return chunk;
  };
  const run = async (): Promise<void> => {
    let chunk = nextChunk();
    if (chunk.length === 0) return;
    // A test runner's own flags are not for the threads, which run the sources as they are.
    // A schedule leaves little behind: with more room for what is young, less of it is walked through.
    const resourceLimits = { maxYoungGenerationSizeMb: YOUNG_MB };
    const thread = new Worker(program, { workerData: task, execArgv: [], resourceLimits });
    try {
      for (; chunk.length > 0; chunk = nextChunk()) {
        const outcomes = await answer(thread, chunk);
        for (const outcome of outcomes) if (!stopped && onOutcome(outcome) === true) stopped = true;
      }
    } finally {
      await thread.terminate();
    }
  };
  await Promise.all(Array.from({ length: threads }, run));
}

function answer(thread: Worker, chunk: readonly number[]): Promise<readonly Outcome[]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly Outcome[]>();
  thread.once('message', resolve);
  thread.once('error', reject);
  thread.postMessage(chunk);
  return promise.finally(() => {
    thread.off('message', resolve);
    thread.off('error', reject);
  });
}
