import { describe, expect, it } from 'vitest';
import type { JobSummary } from '../../lib/tools/console/page-messages.ts';
import { workerSummaries } from '../../lib/tools/console/worker-summaries.ts';
import { settings } from '../support/jobs.ts';

const running = (jobId: string, leaseOwner: string, leaseUntil: number): JobSummary => ({
  jobId,
  type: 't',
  status: 'running',
  attempt: 1,
  errors: 0,
  crashes: 0,
  lapses: 0,
  releases: 0,
  changedAt: 50,
  leaseOwner,
  leaseUntil,
});

describe('the workers of an account', () => {
  it('are the lease holders, and stale once all their leases have lapsed', () => {
    const jobs = [
      running('a', 'host-1/x', 200),
      running('b', 'host-1/y', 10),
      running('c', 'host-2/z', 99),
      { ...running('d', 'host-3/z', 500), status: 'done' as const, finishedAt: -29_901 },
    ];
    expect(workerSummaries(jobs, 100, settings)).toEqual([
      { name: 'host-2', state: 'stale', since: 50, jobs: ['c'] },
      { name: 'host-1', state: 'busy', since: 50, jobs: ['a', 'b'] },
    ]);
  });
});
