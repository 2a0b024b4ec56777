import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Filter, orderJobs, reorderJobs } from '../../lib/console/page/job-order.ts';
import type { JobSummary } from '../../lib/console/page-messages.ts';

const statuses = ['pending', 'running', 'done', 'failed', 'cancelled'] as const;
const all: Filter = { status: 'all', search: '' };

const job = (jobId: string, more: Partial<JobSummary> = {}): JobSummary => ({
  jobId,
  type: 'resize',
  status: 'pending',
  attempt: 0,
  errors: 0,
  crashes: 0,
  releases: 0,
  changedAt: 0,
  ...more,
});

describe('the order of the list', () => {
  it('has running jobs first, then the last change', () => {
    const jobs = [
      job('old', { changedAt: 1, status: 'done' }),
      job('new', { changedAt: 3, status: 'done' }),
      job('busy', { changedAt: 2, status: 'running' }),
    ];
    expect(orderJobs(jobs, all).map(({ jobId }) => jobId)).toEqual(['busy', 'new', 'old']);
  });

  it('after any changes is what sorting anew would give', () => {
    const views = fc.array(
      fc.record({
        jobId: fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'),
        status: fc.constantFrom(...statuses),
        changedAt: fc.nat(5),
      }),
      { maxLength: 12 },
    );
    const filters = fc.record({
      status: fc.constantFrom('all' as const, ...statuses),
      search: fc.constant(''),
    });
    fc.assert(
      fc.property(views, views, filters, (before, changes, filter) => {
        const jobs = new Map(before.map((view) => [view.jobId, job(view.jobId, view)]));
        const list = orderJobs(jobs.values(), filter);
        for (const change of changes) jobs.set(change.jobId, job(change.jobId, change));
        const changed = new Set(changes.map(({ jobId }) => jobId));
        expect(reorderJobs(list, changed, jobs, filter)).toEqual(orderJobs(jobs.values(), filter));
      }),
    );
  });

  it('leaves out a job that is gone', () => {
    const jobs = new Map([['a', job('a')]]);
    const list = orderJobs([job('a'), job('b')], all);
    expect(reorderJobs(list, new Set(['b']), jobs, all).map(({ jobId }) => jobId)).toEqual(['a']);
  });
});

describe('the search', () => {
  const one = job('album-17', { leaseOwner: 'host-1/x', lastError: 'Service DOWN', status: 'failed' });
  const isShown = (each: JobSummary, filter: Filter): boolean => orderJobs([each], filter).length === 1;

  it.each(['album', 'RESIZE', 'host-1', 'down', 'album down', ''])('finds a job by %j', (search) => {
    expect(isShown(one, { status: 'all', search })).toBe(true);
  });

  it.each(['album-18', 'album up', '.*'])('does not find it by %j', (search) => {
    expect(isShown(one, { status: 'all', search })).toBe(false);
  });

  it('is within the chosen state', () => {
    expect(isShown(one, { status: 'done', search: 'album' })).toBe(false);
    expect(isShown(one, { status: 'failed', search: 'album' })).toBe(true);
  });
});
