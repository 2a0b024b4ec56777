import type { RunningJob } from '../../lib/protocol/job.ts';
import { createFakeClock } from '../../lib/testing/fake-clock.ts';
import type { Work } from '../../lib/worker/cells/cells.ts';
import type { CellRun } from '../../lib/worker/cells/host/cell-runs.ts';
import { createLeaseClock, readClock } from '../../lib/worker/run/lease-clock.ts';

export const cellRun = (run: number, given: Partial<CellRun> = {}): CellRun => ({
  ...{ run, slot: 0, work: stubWork(), ticks: 0, started: true, progress: 0, saving: false },
  ...{ stop: 0, limitMs: 0 },
  settle() {},
  ...given,
});

/** A job to run, of which a test cares for one thing or another. */
export function stubWork(given: Partial<Work> & { readonly jobId?: string } = {}): Work {
  const clock = createFakeClock();
  const { jobId = 'job', ...more } = given;
  return {
    job: {
      ...{ jobId, type: 'work', payload: '{"n":1}', attempt: 3, errors: 1, crashes: 2, releases: 4 },
      createdAt: 5,
    } as RunningJob,
    lease: createLeaseClock(clock, readClock(clock), 60_000),
    ...{ maxStallMs: 60_000, progressIntervalMs: 1000 },
    save: async () => 'written',
    onProgress() {},
    ...more,
  };
}
