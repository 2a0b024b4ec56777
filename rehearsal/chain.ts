import { setTimeout as sleep } from 'node:timers/promises';
import type { Row } from '../lib/protocol/writes/row-write.ts';
import { recoveryBound } from '../lib/settings/recovery-bound.ts';
import { defaultSettings } from '../lib/settings/settings.ts';
import { LEADER_KEY } from '../lib/wire/table.ts';
import { distribution, seconds } from './results.ts';
import type { System } from './system.ts';

/** A sweep later than this counts as `ReaperLate`. @internal */
export const LATE_MS = 5000;
const LOOK_MS = 500;

/** The schedule starts the first sweep of a new stack, within its own bound. */
const BEGUN_MS = recoveryBound(defaultSettings).worstMs;

export interface Chain {
  /** Resolves once a sweep has promised the next. */
  begun(signal: AbortSignal): Promise<void>;
  /** Resolves with how late each sweep was, once there were so many. */
  rounds(count: number, withinMs: number, signal: AbortSignal): Promise<readonly number[]>;
  stop(): void;
}

/** Follows the reaper's promises in the background: each new one is made by a sweep that keeps the last. */
export function watchChain({ table }: Pick<System, 'table'>): Chain {
  const lateness: number[] = [];
  const stopped = new AbortController();
  let failure: unknown;
  let last: Row | undefined;
  const watch = async () => {
    while (!stopped.signal.aborted) {
      await sleep(LOOK_MS, undefined, { signal: stopped.signal });
      const row = await table.read(LEADER_KEY);
      if (last?.wake !== undefined && row?.wake !== last.wake)
        lateness.push(Math.max(0, Number(row?.ledAt) - Number(last.wakeAt)));
      last = row;
    }
  };
  watch().catch((error: unknown) => {
    failure = error;
  });
  const until = async (isReached: () => boolean, withinMs: number, signal: AbortSignal) => {
    const end = Date.now() + withinMs;
    while (!isReached()) {
      if (failure !== undefined) throw failure;
      if (Date.now() > end) throw new Error(`${lateness.length} sweeps were seen in ${seconds(withinMs)}`);
      await sleep(LOOK_MS, undefined, { signal });
    }
  };
  return {
    begun: (signal) => until(() => last?.wake !== undefined, BEGUN_MS, signal),
    async rounds(count, withinMs, signal) {
      await until(() => lateness.length >= count, withinMs, signal);
      return [...lateness];
    },
    stop: () => stopped.abort(),
  };
}

export function judgeChain(lateness: readonly number[]): string[] {
  const note = distribution('from a promised sweep to the next promise', lateness, LATE_MS);
  if (Math.max(...lateness) > LATE_MS) throw new Error(`a sweep came late. ${note}`);
  return [note];
}
