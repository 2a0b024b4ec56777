import type { LeaseEntry, RunningEntry } from '../../lib/protocol/job.ts';
import type { NewJob } from '../../lib/protocol/writes/worker-writes.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';

/** Few shards, so that suites can read the whole index. */
export const settings = resolveSettings({ shards: 2 });

/** What a job message says, with the defaults of the settings. */
export const newJob = (jobId: string, over: Partial<NewJob> = {}): NewJob => ({
  jobId,
  type: 'report',
  payload: '{"n":1}',
  leaseMs: settings.leaseMs,
  maxAttempts: settings.maxAttempts,
  maxCrashes: settings.maxCrashes,
  ...over,
});

/** An entry of the lease index: a running job of worker `w/1`. */
export const leaseEntry = (over: Partial<LeaseEntry> = {}): RunningEntry => ({
  jobId: 'j1',
  type: 'report',
  leaseShard: 'r0',
  leaseUntil: 100_000,
  leaseMs: 30_000,
  leaseOwner: 'w/1',
  startedAt: 70_000,
  attempt: 1,
  errors: 0,
  crashes: 0,
  lapses: 0,
  releases: 0,
  maxAttempts: 5,
  maxCrashes: 3,
  notBefore: 0,
  dispatches: 0,
  cancelRequested: false,
  ...(over as Partial<RunningEntry>),
  status: (over.status ?? 'running') as 'running',
});
