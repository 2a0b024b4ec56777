import type { RunningJob } from '../../lib/protocol/job.ts';
import { createHandClock } from '../../lib/testing/hand-clock.ts';
import type { AbortReason } from '../../lib/worker/abort-reasons.ts';
import type { KilledFor, Work } from '../../lib/worker/cells/cells.ts';
import type { Cell } from '../../lib/worker/cells/host/cell.ts';
import type { CellRun } from '../../lib/worker/cells/host/cell-runs.ts';
import type { Home } from '../../lib/worker/cells/host/homes.ts';
import { LeaseClock, readClock } from '../../lib/worker/run/lease-clock.ts';

/** A cell that does nothing by itself: a test says how it is, and sees what was asked of it. */
export interface StubCell extends Cell {
  state: {
    ready: boolean;
    retired: boolean;
    used: number;
    failures: number;
    memory: number;
    missed: number;
    checks: number;
  };
  readonly runs: Map<number, CellRun>;
  readonly aborted: (readonly [number, AbortReason])[];
  readonly killed: KilledFor[];
  readonly revoked: number[];
  readonly ticks: () => number;
}

export function stubCell(id: number, given: Partial<StubCell['state']> = {}): StubCell {
  const state = {
    ...{ ready: true, retired: false, used: 0, failures: 0, memory: 0, missed: 0, checks: 0 },
    ...given,
  };
  const runs = new Map<number, CellRun>();
  const aborted: (readonly [number, AbortReason])[] = [];
  const killed: KilledFor[] = [];
  const revoked: number[] = [];
  let ticks = 0;
  return {
    ...{ id, pid: undefined, state, runs, aborted, killed, revoked, ticks: () => ticks },
    isReady: () => state.ready && !state.retired,
    isRetired: () => state.retired,
    busy: () => runs.size + state.checks,
    used: () => state.used,
    failures: () => state.failures,
    memory: () => state.memory,
    missedPulses: () => state.missed,
    run(run, work, settle) {
      state.used += 1;
      runs.set(run, cellRun(run, { work, settle }));
    },
    abort: (run, reason) => void aborted.push([run, reason]),
    revokeUnstarted: (run) => void revoked.push(run),
    check() {},
    forget() {},
    flush: async () => {},
    retire() {
      state.retired = true;
    },
    kill: (why) => void killed.push(why),
    tick() {
      ticks += 1;
    },
  };
}

export const stubHome = (cell: StubCell): Home & { readonly cell: StubCell } => ({ cell, isSpare: false });

export const cellRun = (run: number, given: Partial<CellRun> = {}): CellRun => ({
  ...{ run, slot: 0, work: stubWork(), ticks: 0, started: true, progress: 0, saving: false },
  revocation: { revoked: 0, detail: 0 },
  settle() {},
  ...given,
});

/** A job to run, of which a test cares for one thing or another. */
export function stubWork(given: Partial<Work> & { readonly jobId?: string } = {}): Work {
  const clock = createHandClock();
  const { jobId = 'job', ...more } = given;
  return {
    job: {
      ...{ jobId, type: 'work', payload: '{"n":1}', attempt: 3, errors: 1, crashes: 2, releases: 4 },
      createdAt: 5,
    } as RunningJob,
    lease: new LeaseClock(clock, readClock(clock), 60_000),
    ...{ maxStallMs: 60_000, progressIntervalMs: 1000 },
    save: async () => 'written',
    onProgress() {},
    onRetired() {},
    ...more,
  };
}
