import type { Clock } from '../../../protocol/ports.ts';
import type { CellProcess } from './cell-process.ts';

export type PulseWatch = ReturnType<typeof createPulseWatch>;

/** Counts the ticks of the host for which a cell that has something to do has shown no pulse. */
export function createPulseWatch({ slate }: CellProcess) {
  let pulse = 0;
  let missed = 0;
  /** It was given a run that it did not begin: until its pulse moves it counts as stuck, though nothing is in it. */
  let isDoubted = false;
  return {
    missed: () => missed,
    doubt() {
      isDoubted = true;
    },
    tick(isBusy: boolean) {
      const signs = slate.signs();
      if (signs.pulse !== pulse) isDoubted = false;
      missed = signs.pulse === pulse && (isDoubted || isBusy) ? missed + 1 : 0;
      pulse = signs.pulse;
    },
  };
}

export type MemoryWatch = ReturnType<typeof createMemoryWatch>;

/** Looks at a cell's memory: at each tick of the host, and for whoever asks when the last look is a pulse ago. */
export function createMemoryWatch(process: CellProcess, clock: Clock, pulseMs: number) {
  let bytes = 0;
  let lookedAt = Number.NEGATIVE_INFINITY;
  const look = (): void => {
    lookedAt = clock.monotonic();
    // One that has just ended has none any more: what it had before tells why.
    bytes = process.memory() || bytes;
  };
  return {
    look,
    last: () => bytes,
    now(): number {
      if (clock.monotonic() - lookedAt >= pulseMs) look();
      return bytes;
    },
  };
}
