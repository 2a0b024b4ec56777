import type { Settings } from '../../../settings/settings.ts';

export interface Timers {
  /** Returns a stop function. Ticks missed while the host was suspended are skipped. */
  every(ms: number, run: () => void): () => void;
  /** Runs after the current code. */
  defer(run: () => void): void;
}

export const nodeTimers: Timers = {
  every(ms, run) {
    const timer = setInterval(run, ms);
    return () => clearInterval(timer);
  },
  defer: (run) => void setImmediate(run),
};

const TICK_MS = 250;
const LEAST_TICK_MS = 20;
/** Precision of stall detection. */
const TICKS_PER_STALL = 8;

export const tickMsFor = ({ maxStallMs }: Pick<Settings, 'maxStallMs'>): number =>
  Math.max(LEAST_TICK_MS, Math.min(TICK_MS, Math.floor(maxStallMs / TICKS_PER_STALL)));
