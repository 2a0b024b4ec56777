import { lapsesAt } from '../../protocol/decisions/decide-reap.ts';
import type { JobStatus, RunningEntry } from '../../protocol/job.ts';
import { lastBeatAt } from '../../settings/heartbeat-timing.ts';
import type { Settings } from '../../settings/settings.ts';
import { workerOf } from './worker-name.ts';

export type Lease = Pick<RunningEntry, 'jobId' | 'type' | 'attempt' | 'leaseUntil' | 'leaseMs'> &
  Partial<Pick<RunningEntry, 'leaseOwner' | 'startedAt'>> & { readonly status: JobStatus };

export interface LeaseHolder {
  readonly worker: string;
  readonly lastHeartbeatAt: number;
  /** STALE once all its leases have ended; display only, because the reaper judges leases, not workers. */
  readonly state: 'live' | 'STALE';
  readonly jobs: readonly HeldJob[];
}

interface HeldJob {
  readonly jobId: string;
  readonly type: string;
  readonly attempt: number;
  readonly leaseUntil: number;
  readonly lapsesAt: number;
  readonly isLapsed: boolean;
}

/** Sorted by the longest silence. */
export function leaseHolders(
  leases: readonly Lease[],
  now: number,
  settings: Pick<Settings, 'skewMs'>,
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
        lastHeartbeatAt: Math.max(...held.map(lastBeatAt)),
        state: jobs.every((job) => job.isLapsed) ? 'STALE' : 'live',
        jobs,
      };
    })
    .sort((a, b) => a.lastHeartbeatAt - b.lastHeartbeatAt || (a.worker < b.worker ? -1 : 1));
}
