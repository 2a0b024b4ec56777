import type { SimulationResult } from './simulate.ts';

/** What is kept of a schedule when there are very many: its seed brings back the rest. */
export interface Outcome {
  readonly seed: number;
  readonly violation?: string;
  readonly events: number;
  readonly virtualMs: number;
  readonly faults: number;
  readonly writes: number;
}

export const outcomeOf = ({
  faultsInjected,
  writes,
  faults: _,
  timeline: __,
  meetings: ___,
  ...kept
}: SimulationResult): Outcome => ({
  ...kept,
  faults: faultsInjected.length,
  writes: Object.values(writes).reduce((sum, each) => sum + each, 0),
});

export interface Totals {
  readonly schedules: number;
  readonly faults: number;
  readonly writes: number;
  add(outcome: Outcome): void;
  toString(): string;
}

/** Sums outcomes up, and says how many there were a second since it began. */
export function createTotals(): Totals {
  const begunAt = performance.now();
  const sums = { schedules: 0, events: 0, virtualMs: 0, faults: 0, writes: 0 };
  const count = (value: number) => Math.round(value).toLocaleString('en');
  return {
    get schedules() {
      return sums.schedules;
    },
    get faults() {
      return sums.faults;
    },
    get writes() {
      return sums.writes;
    },
    add({ events, virtualMs, faults, writes }) {
      sums.schedules += 1;
      sums.events += events;
      sums.virtualMs += virtualMs;
      sums.faults += faults;
      sums.writes += writes;
    },
    toString() {
      const seconds = (performance.now() - begunAt) / 1000;
      return `${count(sums.schedules)} schedules in ${seconds.toFixed(1)} s, ${count(sums.schedules / seconds)} a second: ${count(sums.virtualMs / 3_600_000)} virtual hours, ${count(sums.events)} events, ${count(sums.faults)} faults, ${count(sums.writes)} writes`;
    },
  };
}
