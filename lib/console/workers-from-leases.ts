import type { JobView, WorkerView } from './protocol.ts';
import { workerOf } from './worker-name.ts';

/**
 * The workers that hold leases, as the index tells: an idle one is invisible, and one whose leases have all lapsed is
 * stale. Nothing is decided by this; it is for people to look at.
 */
export function workersFromLeases(jobs: Iterable<JobView>, now: number): WorkerView[] {
  const held = new Map<string, JobView[]>();
  for (const job of jobs) {
    if (job.status !== 'running' || job.leaseOwner === undefined) continue;
    const name = workerOf(job.leaseOwner);
    held.set(name, [...(held.get(name) ?? []), job]);
  }
  return [...held].map(([name, mine]) => ({
    name,
    state: mine.some((job) => (job.leaseUntil ?? 0) >= now) ? ('busy' as const) : ('stale' as const),
    since: Math.min(...mine.map((job) => job.changedAt)),
    jobs: mine.map(({ jobId }) => jobId),
  }));
}
