import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Filter,
  fragmentOf,
  noFilter,
  placeOf,
  sortKeys,
} from '../../lib/tools/console/page/address.ts';
import { orderJobs as orderAt } from '../../lib/tools/console/page/list/job-order.ts';
import type { JobSummary } from '../../lib/tools/console/page-messages.ts';

const statuses = ['pending', 'running', 'done', 'failed', 'cancelled'] as const;
const all = noFilter;
const NOW = 10_000;
const orderJobs = (jobs: Iterable<JobSummary>, filter: Filter) => orderAt(jobs, filter, NOW);
const job = (jobId: string, more: Partial<JobSummary> = {}): JobSummary => ({
  jobId,
  type: 'resize',
  status: 'pending',
  attempt: 0,
  errors: 0,
  crashes: 0,
  lapses: 0,
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
});

describe('the search', () => {
  const one = job('album-17', { leaseOwner: 'host-1/x', lastError: 'Service DOWN', status: 'failed' });
  const isShown = (each: JobSummary, filter: Filter): boolean => orderJobs([each], filter).length === 1;

  it.each(['album', 'RESIZE', 'host-1', 'down', 'album down', 'service down', ' down ', ''])(
    'finds a job by %j',
    (search) => {
      expect(isShown(one, { ...all, search })).toBe(true);
    },
  );
});

describe('the filter', () => {
  const failed = job('a', {
    status: 'failed',
    type: 'mail',
    lastError: 'Error: SMTP 421 busy',
    changedAt: 9_000,
  });
  const isShown = (filter: Partial<Filter>, now = NOW) =>
    orderAt([failed], { ...all, ...filter }, now).length === 1;

  it('chooses by type, error and time', () => {
    expect(isShown({ type: 'mail', error: 'Error: SMTP # busy', since: '15m' })).toBe(true);
    expect(isShown({ type: 'resize' })).toBe(false);
    expect(isShown({ error: 'Error: SMTP # full' })).toBe(false);
    expect(isShown({ since: '15m' }, 9_000 + 900_000)).toBe(true);
    expect(isShown({ since: '15m' }, 9_000 + 900_001)).toBe(false);
  });

  it('comes back from the address as it was', () => {
    const filters = fc.record({
      status: fc.constantFrom('all' as const, 'queued' as const, ...statuses),
      search: fc.string(),
      type: fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
      error: fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
      since: fc.constantFrom(undefined, '15m' as const, '7d' as const),
      sort: fc.constantFrom(...sortKeys),
      isReversed: fc.boolean(),
    });
    fc.assert(
      fc.property(filters, (filter) => {
        expect(placeOf(fragmentOf({ view: 'list', filter }))).toEqual({ view: 'list', filter });
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1 }), (text) => {
        const jobId = text.toWellFormed();
        expect(placeOf(fragmentOf({ view: 'job', jobId }))).toEqual({ view: 'job', jobId });
      }),
    );
  });

  it.each(['#/?status=lost&sort=upwards&since=ever', '#nonsense', '', '#/?%', '#/jobs/'])(
    'of an address that says nothing is none: %j',
    (fragment) => {
      expect(placeOf(fragment)).toMatchObject({ view: 'list', filter: { status: 'all', sort: 'changed' } });
    },
  );
});
