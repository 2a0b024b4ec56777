import { defined } from '../../wire/defined.ts';
import { claimAttribute } from '../../wire/table.ts';
import type { Dispatch } from '../decisions/dispatch.ts';
import type { Claim, ClaimEnd, PastClaim } from '../job.ts';
import { shortCause } from '../rows/json-text.ts';
import { failedShard, pendingShard, runningShard } from '../shards.ts';
import {
  attemptIs,
  cancelIsRequested,
  checkpointIsNewer,
  isDue,
  isNotToBeCancelled,
  leaseEndsBefore,
  leaseIsMine,
  leaseIsOwnedBy,
  rowIsAbsent,
  statusIs,
  wasNeverMine,
} from './clauses.ts';
import type { RowWrite } from './row-write.ts';

/** What a job message says of a job that may have no row yet. */
export interface NewJob {
  readonly jobId: string;
  readonly type: string;
  readonly payload: string;
  readonly leaseMs: number;
  readonly maxAttempts: number;
  readonly maxCrashes: number;
}

/** In every request: who writes, when, and over how many index shards the rows are spread. */
export interface WriteContext {
  readonly changedBy: string;
  readonly now: number;
  readonly shards: number;
}

/** The attributes that a row gets once, from the first message: later messages with the same id change nothing. */
const firstMessageWins = (job: NewJob, now: number) => ({
  type: job.type,
  payload: job.payload,
  leaseMs: job.leaseMs,
  maxAttempts: job.maxAttempts,
  maxCrashes: job.maxCrashes,
  createdAt: now,
  errors: 0,
  crashes: 0,
  releases: 0,
  checkpointSeq: 0,
  cancelRequested: false,
});

/** Grants a lease: owner, expiry and `running` in one write. By a hint (`jobId` only) the row must exist. */
export function claimWrite(
  request: {
    readonly job: NewJob | { readonly jobId: string };
    readonly owner: string;
    readonly skewMs: number;
  },
  { changedBy, now, shards }: WriteContext,
): RowWrite {
  const { job, owner, skewMs } = request;
  const isClaimable = [statusIs('pending'), isDue(now, skewMs), isNotToBeCancelled, wasNeverMine(owner)];
  const isNew = 'payload' in job;
  return {
    transition: 'claim',
    jobId: job.jobId,
    when: isNew ? [[rowIsAbsent], isClaimable] : [isClaimable],
    set: {
      status: 'running',
      leaseOwner: owner,
      leaseShard: runningShard(job.jobId, shards),
      startedAt: now,
      heartbeatAt: now,
      changedBy,
    },
    keep: isNew ? firstMessageWins(job, now) : {},
    sum: {
      attempt: { of: 'attempt', otherwise: 0, plus: 1 },
      leaseUntil: { of: 'leaseMs', otherwise: isNew ? job.leaseMs : 0, plus: now },
    },
    remove: ['notBefore', 'dispatches'],
    returns: 'row',
  };
}

/** Keeps a job for later, before its first claim. */
export const scheduleWrite = (
  job: NewJob,
  dispatch: Dispatch,
  { changedBy, now, shards }: WriteContext,
): RowWrite => ({
  transition: 'schedule',
  jobId: job.jobId,
  when: [[rowIsAbsent]],
  set: {
    ...firstMessageWins(job, now),
    ...pendingAttributes(job.jobId, dispatch, shards),
    attempt: 0,
    changedBy,
  },
  returns: 'row',
});

/** Extends the lease. The reply tells whether an operator asked for cancellation. */
export const heartbeatWrite = (
  claim: Claim,
  leaseUntil: number,
  { changedBy, now }: WriteContext,
): RowWrite => ({
  transition: 'heartbeat',
  jobId: claim.jobId,
  when: [[...leaseIsMine(claim), leaseEndsBefore(leaseUntil)]],
  set: { leaseUntil, heartbeatAt: now, changedBy },
  // Touched so that a reply of changed attributes alone brings it along: the payload need not travel with every beat.
  keep: { cancelRequested: false },
  returns: 'changed',
});

/** Keeps the handler's place. Never touches the lease: only the heart proves that the worker is alive. */
export const checkpointWrite = (
  claim: Claim,
  kept: { readonly seq: number; readonly checkpoint?: string; readonly progress?: string },
  { changedBy }: WriteContext,
): RowWrite => ({
  transition: 'checkpoint',
  jobId: claim.jobId,
  when: [[...leaseIsMine(claim), checkpointIsNewer(kept.seq)]],
  set: defined({
    checkpointSeq: kept.seq,
    checkpoint: kept.checkpoint,
    progress: kept.progress,
    changedBy,
  }),
  returns: 'nothing',
});

export const completeWrite = (
  claim: Claim,
  end: { readonly result?: string; readonly expiresAt: number },
  { changedBy, now }: WriteContext,
): RowWrite => ({
  transition: 'complete',
  jobId: claim.jobId,
  when: [leaseIsMine(claim)],
  set: defined({
    status: 'done',
    result: end.result,
    ...finishedAttributes(now, end.expiresAt),
    ...claimEnded(claim, now, 'done'),
    changedBy,
  }),
  remove: ['leaseUntil'],
  returns: 'nothing',
});

/** After an error, with budget left. */
export const retryWrite = (
  claim: Claim,
  next: { readonly errors: number; readonly lastError: string; readonly dispatch: Dispatch },
  { changedBy, now, shards }: WriteContext,
): RowWrite => ({
  transition: 'retry',
  jobId: claim.jobId,
  when: [leaseIsMine(claim)],
  set: {
    ...pendingAttributes(claim.jobId, next.dispatch, shards),
    errors: next.errors,
    lastError: next.lastError,
    ...claimEnded(claim, now, 'retried', next.lastError),
    changedBy,
  },
  returns: 'nothing',
});

/** After an error, with no budget left, or none wanted. */
export const failWrite = (
  claim: Claim,
  end: {
    readonly errors: number;
    readonly crashes?: number;
    readonly releases?: number;
    readonly lastError: string;
    readonly expiresAt: number;
  },
  { changedBy, now, shards }: WriteContext,
): RowWrite => ({
  transition: 'fail',
  jobId: claim.jobId,
  when: [leaseIsMine(claim)],
  set: {
    status: 'failed',
    errors: end.errors,
    ...defined({ crashes: end.crashes, releases: end.releases }),
    lastError: end.lastError,
    ...failedAttributes(claim.jobId, now, shards),
    ...finishedAttributes(now, end.expiresAt),
    ...claimEnded(claim, now, 'failed', end.lastError),
    changedBy,
  },
  returns: 'nothing',
});

/** After the death of a cell: the claim ends and the next one begins in one write, because the host has held the lease all along. */
export const restartWrite = (
  claim: Claim,
  next: {
    readonly owner: string;
    readonly leaseMs: number;
    readonly crashes: number;
    readonly releases: number;
    readonly lastError: string;
  },
  { changedBy, now }: WriteContext,
): RowWrite => ({
  transition: 'restart',
  jobId: claim.jobId,
  when: [[...leaseIsMine(claim), isNotToBeCancelled]],
  set: {
    attempt: claim.attempt + 1,
    leaseOwner: next.owner,
    leaseUntil: now + next.leaseMs,
    startedAt: now,
    heartbeatAt: now,
    crashes: next.crashes,
    releases: next.releases,
    lastError: next.lastError,
    ...claimEnded(claim, now, 'crashed', next.lastError),
    changedBy,
  },
  returns: 'row',
});

/** On purpose: out of invocation time, or shutting down. Spends no budget unless it is charged as an error. */
export const releaseWrite = (
  claim: Claim,
  next: {
    readonly errors: number;
    readonly releases: number;
    readonly lastError?: string;
    readonly dispatch: Dispatch;
  },
  { changedBy, now, shards }: WriteContext,
): RowWrite => ({
  transition: 'release',
  jobId: claim.jobId,
  when: [leaseIsMine(claim)],
  set: defined({
    ...pendingAttributes(claim.jobId, next.dispatch, shards),
    errors: next.errors,
    releases: next.releases,
    lastError: next.lastError,
    ...claimEnded(claim, now, 'released', next.lastError),
    changedBy,
  }),
  returns: 'nothing',
});

/** Releases a claim that may or may not have been granted. */
export const releaseUnknownWrite = (
  jobId: string,
  owner: string,
  dispatch: Dispatch,
  { changedBy, shards }: WriteContext,
): RowWrite => ({
  transition: 'releaseUnknown',
  jobId,
  when: [leaseIsOwnedBy(owner)],
  set: { ...pendingAttributes(jobId, dispatch, shards), changedBy },
  sum: { releases: { of: 'releases', otherwise: 0, plus: 1 } },
  returns: 'nothing',
});

export const cancelRunningWrite = (
  claim: Claim,
  expiresAt: number,
  { changedBy, now }: WriteContext,
): RowWrite => ({
  transition: 'cancelRunning',
  jobId: claim.jobId,
  when: [[...leaseIsMine(claim), cancelIsRequested]],
  set: {
    status: 'cancelled',
    ...finishedAttributes(now, expiresAt),
    ...claimEnded(claim, now, 'cancelled'),
    changedBy,
  },
  remove: ['leaseUntil'],
  returns: 'nothing',
});

/** A pending row whose cancellation was requested while it ran is ended by whoever meets it first. */
export const cancelPendingWrite = (
  observed: { readonly jobId: string; readonly attempt: number },
  expiresAt: number,
  { changedBy, now }: WriteContext,
): RowWrite => ({
  transition: 'cancelPending',
  jobId: observed.jobId,
  when: [[statusIs('pending'), attemptIs(observed.attempt), cancelIsRequested]],
  set: { status: 'cancelled', ...finishedAttributes(now, expiresAt), changedBy },
  remove: ['leaseUntil'],
  returns: 'nothing',
});

export const pendingAttributes = (jobId: string, dispatch: Dispatch, shards: number) => ({
  status: 'pending',
  leaseShard: pendingShard(jobId, shards),
  leaseUntil: dispatch.leaseUntil,
  notBefore: dispatch.notBefore,
  dispatches: dispatch.dispatches,
});

/** Failed jobs stay in the index, in shards of their own that no sweep reads, by the time of their failure. */
export const failedAttributes = (jobId: string, now: number, shards: number) => ({
  leaseShard: failedShard(jobId, shards),
  leaseUntil: now,
});

export const finishedAttributes = (now: number, expiresAt: number) => ({ finishedAt: now, expiresAt });

/** The claim's entry in the ring. `cause` is an error's text: its first line is kept, shortened. */
export const claimEnded = (claim: Claim, now: number, outcome: ClaimEnd, cause?: string) => {
  const past: PastClaim = {
    attempt: claim.attempt,
    owner: claim.owner,
    from: claim.startedAt,
    to: now,
    outcome,
    cause: cause === undefined ? undefined : shortCause(cause),
  };
  return { [claimAttribute(claim.attempt)]: defined({ ...past }) };
};
