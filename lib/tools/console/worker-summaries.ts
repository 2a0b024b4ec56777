import type { Settings } from '../../settings/settings.ts';
import { leaseHolders } from '../inspect/lease-holders.ts';
import type { JobSummary, WorkerSummary } from './page-messages.ts';

/** Idle workers hold no leases, so they are invisible. */
export function workerSummaries(
  jobs: readonly JobSummary[],
  now: number,
  settings: Pick<Settings, 'skewMs' | 'graceMs'>,
): WorkerSummary[] {
  const claimedAt = new Map(jobs.map(({ jobId, changedAt }) => [jobId, changedAt]));
  const leases = jobs.map((job) => ({
    ...job,
    leaseUntil: job.leaseUntil ?? 0,
    leaseMs: job.leaseMs ?? 0,
  }));
  return leaseHolders(leases, now, settings).map(({ worker, state, jobs: held }) => ({
    name: worker,
    state: state === 'live' ? 'busy' : 'stale',
    since: Math.min(...held.map(({ jobId }) => claimedAt.get(jobId) ?? now)),
    jobs: held.map(({ jobId }) => jobId),
  }));
}
