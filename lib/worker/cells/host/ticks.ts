import type { Settings } from '../../../settings/settings.ts';

/** What a pool does besides waiting for its cells. */
export interface Timers {
  /** Runs again and again; returns how to end that. Time in which the host did not run is not made up for. */
  every(ms: number, run: () => void): () => void;
  soon(run: () => void): void;
}

export const nodeTimers: Timers = {
  every(ms, run) {
    const timer = setInterval(run, ms);
    return () => clearInterval(timer);
  },
  soon: (run) => void setImmediate(run),
};

const TICK_MS = 250;
const LEAST_TICK_MS = 20;
/** A stall is measured to within this share of it. */
const TICKS_PER_STALL = 8;

/** How often a host looks at its cells. */
export const tickMsFor = ({ maxStallMs }: Pick<Settings, 'maxStallMs'>): number =>
  Math.max(LEAST_TICK_MS, Math.min(TICK_MS, Math.floor(maxStallMs / TICKS_PER_STALL)));

export type Ticks = ReturnType<typeof createTicks>;

/** Ticks that come only while there is something to look at. */
export function createTicks(timers: Timers, ms: number, tick: () => void) {
  let stop: (() => void) | undefined;
  const end = (): void => {
    stop?.();
    stop = undefined;
  };
  return {
    end,
    onlyWhile(isNeeded: boolean): void {
      if (isNeeded) stop ??= timers.every(ms, tick);
      else end();
    },
  };
}
