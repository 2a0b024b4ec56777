import { lapsesAt } from '../../protocol/decisions/decide-reap.ts';
import type { JobStatus, LeaseEntry } from '../../protocol/job.ts';
import { lastBeatAt } from '../../settings/lease-length.ts';
import type { Settings } from '../../settings/settings.ts';
import { workerOf } from './worker-name.ts';

/** What is known of a running job's lease, from the index or from a console that watches it. */
export type Lease = Pick<LeaseEntry, 'jobId' | 'type' | 'attempt' | 'leaseUntil' | 'leaseMs'> &
  Partial<Pick<LeaseEntry, 'leaseOwner' | 'startedAt'>> & { readonly status: JobStatus };

/** A worker as its leases show it. One that holds no job is invisible. */
export interface LeaseHolder {
  readonly worker: string;
  readonly lastHeartbeatAt: number;
  /** STALE when every lease it holds has ended. Only told, never acted on: the reaper judges leases, not workers. */
  readonly state: 'live' | 'STALE';
  readonly jobs: readonly HeldJob[];
}

interface HeldJob {
  readonly jobId: string;
  readonly type: string;
  readonly attempt: number;
  readonly leaseUntil: number;
  /** From when the reaper may reclaim it. */
  readonly lapsesAt: number;
  readonly isLapsed: boolean;
}

/** Groups running leases by the worker that holds them, the one that was silent longest first. */
export function leaseHolders(
  leases: readonly Lease[],
  now: number,
  settings: Pick<Settings, 'skewMs' | 'graceMs' | 'leaseGrowth' | 'leaseGrowthCapMs'>,
): LeaseHolder[] {
  const running = leases.filter(({ status }) => status === 'running');
  const byWorker = Map.groupBy(running, (entry) => workerOf(entry.leaseOwner ?? 'unknown'));
  return [...byWorker]
    .map(([worker, held]): LeaseHolder => {
      const jobs = held.map((entry) => ({
        jobId: entry.jobId,
        type: entry.type,
        attempt: entry.attempt,
        leaseUntil: entry.leaseUntil,
        lapsesAt: lapsesAt({ status: 'running', leaseUntil: entry.leaseUntil }, settings),
        isLapsed: entry.leaseUntil <= now,
      }));
      return {
        worker,
        lastHeartbeatAt: Math.max(...held.map((entry) => lastBeatAt(entry, settings))),
        state: jobs.every((job) => job.isLapsed) ? 'STALE' : 'live',
        jobs,
      };
    })
    .sort((a, b) => a.lastHeartbeatAt - b.lastHeartbeatAt || (a.worker < b.worker ? -1 : 1));
}
