import { matches } from '../../job-filter.ts';
import type { JobSummary } from '../../page-messages.ts';
import type { Filter } from '../address.ts';

export function ranMs(job: JobSummary, now: number): number | undefined {
  if (job.startedAt === undefined || job.status === 'pending') return undefined;
  return Math.max(0, (job.finishedAt ?? now) - job.startedAt);
}

const keyOf: Readonly<Record<Filter['sort'], (job: JobSummary) => number | string>> = {
  changed: (job) => job.changedAt,
  // The earlier start runs longer; a fixed time keeps the order stable.
  ran: (job) => (job.status === 'running' ? -(job.startedAt ?? 0) : (ranMs(job, 0) ?? -1)),
  attempts: (job) => job.attempt,
  job: (job) => job.jobId,
};

function compareJobs(a: JobSummary, b: JobSummary, { sort, isReversed }: Filter): number {
  const direction = isReversed ? -1 : 1;
  const isApart = (sort === 'changed' && !isReversed) || sort === 'ran';
  const rank = isApart ? Number(b.status === 'running') - Number(a.status === 'running') : 0;
  const [x, y] = [keyOf[sort](a), keyOf[sort](b)];
  // Names ascend, numbers descend.
  const order = typeof x === 'string' ? (x < y ? -1 : x > y ? 1 : 0) : Number(y) - Number(x);
  return rank || direction * order || (a.jobId < b.jobId ? -1 : 1);
}

export const orderJobs = (jobs: Iterable<JobSummary>, filter: Filter, now: number): JobSummary[] =>
  [...jobs].filter((job) => matches(job, filter, now) === true).sort((a, b) => compareJobs(a, b, filter));
