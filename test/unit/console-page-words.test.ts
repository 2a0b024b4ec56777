import { describe, expect, it } from 'vitest';
import { lossOf, recoveryOf, situationOf } from '../../lib/tools/console/page/job/situation.ts';
import { rates, readings } from '../../lib/tools/console/page/overview/plot-data.ts';
import { overviewByType } from '../../lib/tools/console/page/overview/type-overview.ts';
import type { JobSummary, SeriesPoint } from '../../lib/tools/console/page-messages.ts';

const NOW = 1_000_000;
const job = (more: Partial<JobSummary> = {}): JobSummary => ({
  ...{
    jobId: 'a',
    type: 'resize',
    status: 'running',
    attempt: 1,
    errors: 0,
    crashes: 0,
    lapses: 0,
    releases: 0,
  },
  ...{ changedAt: NOW, leaseUntil: NOW + 1_000 },
  ...more,
});
const margins = { skewMs: 2_000, graceMs: 500 };

describe('a running job whose worker is lost', () => {
  it('is well until its lease ends, then counts down to the tick on which the reaper may act', () => {
    const at = (now: number) => lossOf(job(), now, false, margins);
    expect(at(NOW + 999)).toBeUndefined();
    expect(at(NOW + 1_000)).toBe('worker lost · reclaim in 3 s');
    expect(at(NOW + 3_499)).toBe('worker lost · reclaim in 1 s');
    expect(at(NOW + 3_500)).toBe('worker lost · reclaim due');
  });

  it('is lost at once where its process is known to be dead', () => {
    expect(lossOf(job(), NOW, true, margins)).toBe('worker lost · reclaim in 4 s');
    expect(lossOf(job({ status: 'done' }), NOW, true, margins)).toBeUndefined();
  });
});

describe('a job that goes on', () => {
  it('says what the attempt before ended with', () => {
    expect(recoveryOf(job({ attempt: 2, lastError: 'crashed: out of memory' }))).toBe(
      'crashed: out of memory · running again',
    );
    expect(recoveryOf(job({ attempt: 2 }))).toBeUndefined();
  });

  it('says what it waits for, and how it ended', () => {
    const says = (more: Partial<JobSummary>) => situationOf(job(more), NOW, (owner) => owner);
    expect(says({ status: 'pending' })).toBe('waiting for a worker');
    expect(says({ status: 'pending', notBefore: NOW + 5_000, lastError: 'Error: 503' })).toBe(
      'Error: 503 · due in 5 s',
    );
    expect(says({ status: 'failed', failure: 'quarantined', lastError: 'crashed: exit 1' })).toBe(
      'quarantined · crashed: exit 1',
    );
    expect(says({ status: 'failed', failure: 'nonRetryable', lastError: 'NonRetryableError: no' })).toBe(
      'not retried · NonRetryableError: no',
    );
  });
});

describe('the plots', () => {
  const points = (...all: SeriesPoint[]) => new Map(all.map((point) => [point.second, point]));

  it('draw every job that was done once, and the headline is the last bar', () => {
    const done = points({ second: 990, done: 4 }, { second: 993, done: 6 }, { second: 998, done: 5 });
    const [starts, values] = rates(done, 1_000_900, (point) => point.done);
    expect(values.reduce((sum, value) => sum + value * 5, 0)).toBe(15);
    expect(starts.at(-1)).toBe(995);
    expect(values.at(-1)).toBe(1);
    expect(values.at(-2)).toBe(2);
  });

  it('carry a reading on until the next, over seconds in which jobs were only done', () => {
    const some = points(
      { second: 900, done: 0, live: 3 },
      { second: 950, done: 2 },
      { second: 980, done: 0, live: 1 },
    );
    const [xs, ys] = readings(some, 1_000_000, (point) => point.live);
    expect([899, 900, 950, 979, 980, 1_000].map((second) => ys[xs.indexOf(second)])).toEqual([
      0, 3, 3, 3, 1, 1,
    ]);
  });
});

describe('the overview by type', () => {
  it('has rate, wait and run time of the last five minutes, and what failed, worst first', () => {
    const done = (finishedAt: number, waitedMs?: number) =>
      job({ status: 'done', startedAt: finishedAt - 40, finishedAt, waitedMs });
    const [first, second] = overviewByType(
      [
        done(NOW - 1_000, 10),
        done(NOW - 2_000, 30),
        done(NOW - 300_000),
        done(NOW - 300_001, 5),
        job({ type: 'mail', status: 'failed' }),
        job({ type: 'mail', status: 'pending' }),
      ],
      NOW,
    );
    expect(first).toMatchObject({ type: 'mail', failed: 1, pending: 1, waitMs: undefined, runMs: undefined });
    expect(second).toMatchObject({ type: 'resize', done: 4, donePerMinute: 0.6, waitMs: 30, runMs: 40 });
  });
});
