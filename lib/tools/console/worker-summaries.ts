import type { Settings } from '../../settings/settings.ts';
import { leaseHolders } from '../inspect/lease-holders.ts';
import type { JobSummary, WorkerSummary } from './page-messages.ts';

/** The leases as the console saw them grow: what is left to tell is when the last heartbeat was. */
const OBSERVED = { leaseGrowth: 0, leaseGrowthCapMs: 0 };

/** The workers of an account: whoever holds leases. An idle one is invisible. */
export function workerSummaries(
  jobs: readonly JobSummary[],
  now: number,
  { skewMs, graceMs }: Pick<Settings, 'skewMs' | 'graceMs'>,
): WorkerSummary[] {
  const claimedAt = new Map(jobs.map(({ jobId, changedAt }) => [jobId, changedAt]));
  const leases = jobs.map((job) => ({
    ...job,
    leaseUntil: job.leaseUntil ?? 0,
    leaseMs: job.leaseSpanMs ?? 0,
  }));
  return leaseHolders(leases, now, { skewMs, graceMs, ...OBSERVED }).map(({ worker, state, jobs: held }) => ({
    name: worker,
    state: state === 'live' ? 'busy' : 'stale',
    since: Math.min(...held.map(({ jobId }) => claimedAt.get(jobId) ?? now)),
    jobs: held.map(({ jobId }) => jobId),
  }));
}
