import type { JobStatus } from '../../protocol/job.ts';
import type { JobSummary } from '../page-messages.ts';

export type StatusFilter = JobStatus | 'all';

export interface Filter {
  readonly status: StatusFilter;
  readonly search: string;
}

/** Running jobs first, then by the last change, newest first. */
function compareJobs(a: JobSummary, b: JobSummary): number {
  const rank = Number(b.status === 'running') - Number(a.status === 'running');
  return rank || b.changedAt - a.changedAt || (a.jobId < b.jobId ? -1 : 1);
}

/** Whether the filter shows this job. Every word of the search must be somewhere in id, type, owner or error. */
function isShown(job: JobSummary, { status, search }: Filter): boolean {
  if (status !== 'all' && job.status !== status) return false;
  if (search === '') return true;
  const text = `${job.jobId} ${job.type} ${job.leaseOwner ?? ''} ${job.lastError ?? ''}`.toLowerCase();
  return search
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** All shown jobs in order. */
export const orderJobs = (jobs: Iterable<JobSummary>, filter: Filter): JobSummary[] =>
  [...jobs].filter((job) => isShown(job, filter)).sort(compareJobs);

/** The list after a few jobs changed. The others are not sorted again, so that ten thousand jobs cost no more than a walk. */
export function reorderJobs(
  list: readonly JobSummary[],
  changed: ReadonlySet<string>,
  jobs: ReadonlyMap<string, JobSummary>,
  filter: Filter,
): JobSummary[] {
  const next = list.filter(({ jobId }) => !changed.has(jobId));
  for (const jobId of changed) {
    const job = jobs.get(jobId);
    if (job === undefined || !isShown(job, filter)) continue;
    let low = 0;
    let high = next.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareJobs(next[middle] as JobSummary, job) < 0) low = middle + 1;
      else high = middle;
    }
    next.splice(low, 0, job);
  }
  return next;
}
