import type { Settings } from '../../settings/settings.ts';
import { leaseHolders } from '../inspect/lease-holders.ts';
import { workerOf } from '../inspect/worker-name.ts';
import type { JobSummary, WorkerSummary } from './page-messages.ts';

const SEEN_MS = 30_000;

/** Lease holders, and those that held one a moment ago; workers idle for longer are invisible. */
export function workerSummaries(
  jobs: readonly JobSummary[],
  now: number,
  settings: Pick<Settings, 'skewMs'>,
): WorkerSummary[] {
  const claimedAt = new Map(jobs.map(({ jobId, changedAt }) => [jobId, changedAt]));
  const leases = jobs.map((job) => ({
    ...job,
    leaseUntil: job.leaseUntil ?? 0,
    leaseMs: job.leaseMs ?? 0,
  }));
  const holders = leaseHolders(leases, now, settings).map(
    ({ worker, state, jobs: held }): WorkerSummary => ({
      name: worker,
      state: state === 'live' ? 'busy' : 'stale',
      since: Math.min(...held.map(({ jobId }) => claimedAt.get(jobId) ?? now)),
      jobs: held.map(({ jobId }) => jobId),
    }),
  );
  const busy = new Set(holders.map(({ name }) => name));
  const lastSeen = new Map<string, number>();
  for (const { leaseOwner, finishedAt = 0, status } of jobs) {
    if (leaseOwner === undefined || status !== 'done' || now - finishedAt > SEEN_MS) continue;
    const worker = workerOf(leaseOwner);
    if (!busy.has(worker)) lastSeen.set(worker, Math.max(lastSeen.get(worker) ?? 0, finishedAt));
  }
  const idle = [...lastSeen].map(
    ([name, since]): WorkerSummary => ({ name, state: 'idle', since, jobs: [] }),
  );
  return [...holders, ...idle];
}
