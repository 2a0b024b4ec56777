import type { Claim, Job, JobStatus, LeaseEntry } from '../../lib/protocol/job.ts';
import type { JobStore } from '../../lib/protocol/ports.ts';
import { wasApplied } from '../../lib/protocol/store/store-parts.ts';
import { type JobTransitionName, jobTransitions } from '../../lib/protocol/transitions.ts';
import { cancelWrite, reviveWrite, takeBackWrite } from '../../lib/protocol/writes/operator-writes.ts';
import type { ReapAction } from '../../lib/protocol/writes/reaper-writes.ts';
import {
  repairByFailingWrite,
  repairToPendingWrite,
  repairWrite,
} from '../../lib/protocol/writes/repair-writes.ts';
import type { Row, RowWrite } from '../../lib/protocol/writes/row-write.ts';
import { leaseEntry, newJob } from '../support/jobs.ts';
import { contractSettings, type Harness } from './harness.ts';

/** The row under test, and everything that its rightful writer would know of it. */
export interface Situation {
  readonly jobId: string;
  readonly claim: Claim;
  readonly entry: LeaseEntry;
  readonly job: Job | undefined;
}

/** Carries one transition out as its rightful writer would; true when that was reported as a success. */
export type Driver = (harness: Harness, at: Situation) => Promise<boolean>;

const by =
  (
    outcome: string,
    run: (store: JobStore, at: Situation, harness: Harness) => Promise<{ outcome: string }>,
  ): Driver =>
  async (harness, at) =>
    (await run(harness.store, at, harness)).outcome === outcome;

const written = (run: (store: JobStore, at: Situation, harness: Harness) => Promise<{ outcome: string }>) =>
  by('written', run);

const reaped = (action: (harness: Harness) => ReapAction): Driver =>
  written((store, { entry }, harness) => store.reap(entry, action(harness)));

/** An operator's write, planned from a look at which the job was in a status that allows it. */
const operated =
  (name: JobTransitionName, plan: (job: never, harness: Harness) => RowWrite): Driver =>
  async (harness, { jobId, job }) => {
    const now = harness.clock.now();
    const times = { startedAt: now, leaseUntil: now, finishedAt: now };
    const known = { attempt: 1, releases: 0, acts: [], acted: 0, leaseOwner: 'w/1', ...times, ...job, jobId };
    const seen = { ...known, status: statusSeen(name, job?.status ?? 'absent') };
    return (await harness.table.apply(plan(seen as never, harness))).applied;
  };

/** The status that the writer saw: the actual one where it allows the transition, else one that would. */
const statusSeen = (name: JobTransitionName, actual: JobStatus | 'absent'): string => {
  const from: readonly string[] = jobTransitions[name].from;
  return from.includes(actual) ? actual : (from[0] ?? actual);
};

/** The doctor's write, planned from a scan that saw the row in a status that allows it. */
const repaired =
  (name: JobTransitionName, plan: (row: Row, harness: Harness) => RowWrite): Driver =>
  async (harness, { jobId }) => {
    const row = (await harness.table.read(jobId)) ?? { jobId };
    const actual = (row.status ?? 'absent') as JobStatus | 'absent';
    const write = plan({ ...row, status: statusSeen(name, actual) }, harness);
    return wasApplied(write, await harness.table.apply(write));
  };

const context = (harness: Harness) => ({
  changedBy: `operator/${harness.jobId()}`,
  now: harness.clock.now(),
  shards: 64,
  expiresAt: 2_000_000_000,
});

/** How to attempt each transition of the table. */
export const drivers: Record<JobTransitionName, Driver> = {
  claim: by('claimed', (store, { jobId }) => store.claim({ job: newJob(jobId), owner: 'other/1' })),
  schedule: written((store, { jobId }, harness) => store.schedule(newJob(jobId), harness.dispatch())),
  heartbeat: by('extended', (store, { claim, entry }) => store.heartbeat(claim, entry.leaseUntil + 1)),
  checkpoint: written((store, { claim }) => store.checkpoint(claim, { seq: 7, checkpoint: { page: 2 } })),
  complete: written((store, { claim }) => store.complete(claim, { ok: 1 })),
  retry: written((store, { claim }, harness) =>
    store.retry(claim, { errors: 1, lastError: 'boom', dispatch: harness.dispatch() }),
  ),
  fail: written((store, { claim }) => store.fail(claim, { errors: 1, lastError: 'boom' })),
  restart: by('restarted', (store, { claim }, harness) =>
    store.restart(claim, {
      ...{ owner: 'worker/next', leaseMs: 30_000, crashes: 1, releases: 0 },
      lastError: 'crashed: out of memory (heap)',
      diedAt: harness.clock.now(),
    }),
  ),
  release: written((store, { claim }, harness) =>
    store.release(claim, { errors: 0, releases: 1, dispatch: harness.dispatch() }),
  ),
  releaseUnknown: written((store, { jobId, claim }, harness) =>
    store.releaseUnknown(jobId, claim.owner, harness.dispatch()),
  ),
  park: written((store, { jobId, claim, entry }, harness) =>
    store.park(
      { jobId, attempt: claim.attempt, leaseUntil: entry.leaseUntil },
      { waitsFor: 'limit:work', dispatch: harness.dispatch() },
    ),
  ),
  parkClaim: written((store, { claim }, harness) =>
    store.parkClaim(claim, { waitsFor: 'limit:work', dispatch: harness.dispatch() }),
  ),
  cancelRunning: written((store, { claim }) => store.cancelRunning(claim)),
  reclaim: reaped((harness) => ({
    kind: 'reclaim',
    lapses: 1,
    lastError: 'worker lease expired',
    dispatch: harness.dispatch(),
  })),
  quarantine: reaped(() => ({ kind: 'quarantine', lapses: 5, lastError: 'worker lease expired' })),
  redispatch: reaped((harness) => ({
    kind: 'redispatch',
    dispatch: { ...harness.dispatch(), dispatches: 2 },
  })),
  finishCancel: reaped(() => ({ kind: 'cancel' })),
  cancel: operated('cancel', (job, harness) => cancelWrite(job, context(harness))),
  requestCancel: operated('requestCancel', (job, harness) => cancelWrite(job, context(harness))),
  takeBack: operated('takeBack', (job, harness) => takeBackWrite(job, harness.dispatch(), context(harness))),
  revive: operated('revive', (job, harness) => reviveWrite(job, harness.dispatch(), context(harness))),
  reject: written((store, { jobId }) =>
    store.reject({
      messageId: jobId.slice('bad:'.length),
      reason: 'not JSON',
      text: '{',
      bytes: 1,
      sha256: 'ab',
    }),
  ),
  repairToPending: repaired('repairToPending', (row, harness) =>
    repairToPendingWrite(row, harness.dispatch(), context(harness)),
  ),
  repair: repaired('repair', (row, harness) => repairWrite(row, { maxCrashes: 4 }, context(harness))),
  repairByFailing: repaired('repairByFailing', (row, harness) =>
    repairByFailingWrite(row, 'unreadable', contractSettings, context(harness)),
  ),
};

/** Transitions that also need an operator's wish to end the job. */
const NEEDS_CANCEL_REQUEST: readonly JobTransitionName[] = ['cancelRunning', 'finishCancel'];

/** Brings a row into a status in the form that suits a transition best: only the status can be in its way. */
export async function arrange(
  harness: Harness,
  name: JobTransitionName,
  status: JobStatus | 'absent',
): Promise<Situation> {
  const jobId = name === 'reject' ? `bad:${harness.jobId()}` : harness.jobId();
  const job = status === 'absent' ? undefined : await harness.prepared(status, jobId);
  let row: Row = { jobId };
  if (job !== undefined) {
    row = (await harness.table.read(jobId)) ?? row;
    if (NEEDS_CANCEL_REQUEST.includes(name)) await harness.put({ ...row, cancelRequested: true });
  }
  const entry = leaseEntry({
    jobId,
    status: statusSeen(name, status) === 'pending' ? 'pending' : 'running',
    leaseUntil: typeof row.leaseUntil === 'number' ? row.leaseUntil : harness.clock.now(),
    attempt: job?.attempt ?? 1,
    startedAt: harness.clock.now(),
  });
  const claim = { jobId, owner: 'w/1', attempt: job?.attempt ?? 1, startedAt: harness.clock.now() };
  return { jobId, claim, entry, job };
}
