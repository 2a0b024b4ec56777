import { describe, expect, it } from 'vitest';
import { lossOf } from '../../lib/tools/console/page/job/situation.ts';
import { overviewByType } from '../../lib/tools/console/page/overview/type-overview.ts';
import type { JobSummary } from '../../lib/tools/console/page-messages.ts';

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
const margins = { skewMs: 2_500 };

describe('a running job whose worker is lost', () => {
  it('is well until its lease ends, then counts down to the tick on which the reaper may act', () => {
    const at = (now: number) => lossOf(job(), now, false, margins);
    expect(at(NOW + 999)).toBeUndefined();
    expect(at(NOW + 1_000)).toBe('worker lost · reclaim in 3 s');
    expect(at(NOW + 3_499)).toBe('worker lost · reclaim in 1 s');
    expect(at(NOW + 3_500)).toBe('worker lost · reclaim due');
  });
});

describe('the overview by type', () => {
  it('has rate and run time of the last five minutes, and what failed, worst first', () => {
    const done = (finishedAt: number) => job({ status: 'done', startedAt: finishedAt - 40, finishedAt });
    const [first, second] = overviewByType(
      [
        done(NOW - 1_000),
        done(NOW - 2_000),
        done(NOW - 300_000),
        done(NOW - 300_001),
        job({ type: 'mail', status: 'failed' }),
        job({ type: 'mail', status: 'pending' }),
      ],
      { mail: 658 },
      NOW,
    );
    expect(first).toMatchObject({
      type: 'mail',
      failed: 658,
      pending: 1,
      runMs: undefined,
    });
    expect(second).toMatchObject({ type: 'resize', done: 4, donePerMinute: 0.6, runMs: 40 });
  });
});
