import { lapsesAt } from '../protocol/decisions/decide-reap.ts';
import type { LeaseEntry } from '../protocol/job.ts';
import { lastBeatAt } from '../settings/lease-length.ts';
import type { Settings } from '../settings/settings.ts';

/** A worker as its leases show it. One that holds no job is invisible. */
export interface WorkerView {
  readonly worker: string;
  readonly lastHeartbeatAt: number;
  /** STALE when every lease it holds has ended. Only told, never acted on: the reaper judges leases, not workers. */
  readonly state: 'live' | 'STALE';
  readonly jobs: readonly HeldJob[];
}

export interface HeldJob {
  readonly jobId: string;
  readonly type: string;
  readonly attempt: number;
  readonly leaseUntil: number;
  /** From when the reaper may take it back. */
  readonly lapsesAt: number;
  readonly isLapsed: boolean;
}

/** A claim's owner is `<worker>/<random>`: the worker is what stands before the last slash. */
export const workerOf = (leaseOwner: string): string => {
  const slash = leaseOwner.lastIndexOf('/');
  return slash <= 0 ? leaseOwner : leaseOwner.slice(0, slash);
};

/** Groups running leases by the worker that holds them, the one that was silent longest first. */
export function workerViews(
  entries: readonly LeaseEntry[],
  now: number,
  settings: Pick<Settings, 'skewMs' | 'graceMs' | 'leaseGrowth' | 'leaseGrowthCapMs'>,
): WorkerView[] {
  const running = entries.filter((entry) => entry.status === 'running');
  const byWorker = Map.groupBy(running, (entry) => workerOf(entry.leaseOwner ?? 'unknown'));
  return [...byWorker]
    .map(([worker, held]): WorkerView => {
      const jobs = held.map((entry) => ({
        jobId: entry.jobId,
        type: entry.type,
        attempt: entry.attempt,
        leaseUntil: entry.leaseUntil,
        lapsesAt: lapsesAt(entry, settings),
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
