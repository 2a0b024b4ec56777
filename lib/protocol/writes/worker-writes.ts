import { defined } from '../../wire/defined.ts';
import type { JsonValue } from '../../wire/message.ts';
import { claimAttribute, ROW_FORMAT } from '../../wire/table.ts';
import type { Dispatch } from '../decisions/dispatch.ts';
import type {
  Claim,
  ClaimCounts,
  ClaimEnd,
  FailedEnd,
  JobCore,
  PastClaim,
  QueuedEnd,
  Restart,
  TypeLimits,
} from '../job.ts';
import { type StoredText, stored, storedValue } from '../rows/data-pointer.ts';
import { shortCause } from '../rows/json-text.ts';
import { failedShard, pendingShard, runningShard } from '../shards.ts';
import type { TransitionName } from '../transitions.ts';
import {
  cancelIsNotRequested,
  cancelIsRequested,
  checkpointIsNewer,
  formatIsKnown,
  isDue,
  isNotToBeCancelled,
  leaseEndsBefore,
  leaseIsMine,
  leaseIsOwnedBy,
  rowIsAbsent,
  statusIs,
  typeIs,
  wasNeverMine,
} from './clauses.ts';
import type { Clause, RowWrite } from './row-write.ts';

/** The first claim sets the limits that it omits. */
export type NewJob = Pick<JobCore, 'jobId' | 'type' | 'key' | 'lateAt' | 'payload' | 'trace'> &
  Partial<TypeLimits>;

export type StoredJob = Omit<NewJob, 'payload'> & { readonly payload: StoredText };

export interface WriteContext {
  readonly changedBy: string;
  readonly now: number;
  readonly shards: number;
  /** Epoch seconds, for TTL. */
  readonly expiresAt: number;
}

export const byHolder = (
  transition: TransitionName,
  claim: Claim,
  write: {
    readonly set: Readonly<Record<string, JsonValue | undefined>>;
    readonly when?: readonly Clause[];
    readonly keep?: RowWrite['keep'];
    readonly remove?: RowWrite['remove'];
    readonly returns?: RowWrite['returns'];
  },
  { changedBy }: WriteContext,
): RowWrite => ({
  returns: 'nothing',
  ...write,
  transition,
  jobId: claim.jobId,
  when: [[...leaseIsMine(claim), ...(write.when ?? [])]],
  set: defined({ ...write.set, changedBy }),
});

/** Set once: later messages with the same id change nothing. */
const initialAttributes = (job: StoredJob, now: number) => ({
  type: job.type,
  payload: storedValue(job.payload),
  ...defined({ leaseMs: job.leaseMs, maxAttempts: job.maxAttempts, maxCrashes: job.maxCrashes }),
  createdAt: now,
  format: ROW_FORMAT,
  errors: 0,
  crashes: 0,
  lapses: 0,
  releases: 0,
  checkpointSeq: 0,
  cancelRequested: false,
  ...defined({ key: job.key, lateAt: job.lateAt, ...job.trace }),
});

/** Every write that ends pending removes these. */
export const WAITING = ['waitsFor', 'waitsSince'] as const;

/** For a hint (`jobId` only) the row must exist. */
export function claimWrite(
  request: {
    readonly job: StoredJob | { readonly jobId: string; readonly type?: string };
    readonly owner: string;
    readonly skewMs: number;
    readonly typeLimits: TypeLimits;
    readonly group?: string;
  },
  { changedBy, now, shards }: WriteContext,
): RowWrite {
  const { job, owner, skewMs, group } = request;
  const { leaseMs, maxAttempts, maxCrashes } = request.typeLimits;
  const isNew = 'payload' in job;
  const isClaimable = [
    statusIs('pending'),
    isDue(now, skewMs),
    isNotToBeCancelled,
    wasNeverMine(owner),
    formatIsKnown,
    ...(job.type === undefined ? [] : [typeIs(job.type)]),
  ];
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
      ...defined({ group }),
      changedBy,
    },
    keep: { leaseMs, maxAttempts, maxCrashes, ...(isNew ? initialAttributes(job, now) : undefined) },
    sum: {
      attempt: { of: 'attempt', otherwise: 0, plus: 1 },
      leaseUntil: { of: 'leaseMs', otherwise: (isNew ? job.leaseMs : undefined) ?? leaseMs, plus: now },
    },
    remove: ['notBefore', 'dispatches', ...WAITING, ...(group === undefined ? ['group'] : [])],
    returns: 'row',
  };
}

export const scheduleWrite = (
  job: StoredJob,
  dispatch: Dispatch,
  { changedBy, now, shards }: WriteContext,
  waitsFor?: string,
): RowWrite => ({
  transition: 'schedule',
  jobId: job.jobId,
  when: [[rowIsAbsent]],
  set: {
    ...initialAttributes(job, now),
    ...pendingAttributes(job.jobId, dispatch, shards),
    ...(waitsFor === undefined ? undefined : { waitsFor, waitsSince: now }),
    attempt: 0,
    changedBy,
  },
  returns: 'row',
});

/** The reply shows a cancellation request. */
export const heartbeatWrite = (claim: Claim, leaseUntil: number, at: WriteContext): RowWrite => {
  const when = [leaseEndsBefore(leaseUntil)];
  const set = { leaseUntil, heartbeatAt: at.now };
  // Setting it returns it in the reply, without the payload.
  const keep = { cancelRequested: false };
  return byHolder('heartbeat', claim, { when, set, keep, returns: 'changed' }, at);
};

/** Batches return nothing, so a pending cancellation refuses the heartbeat. */
export const heartbeatInBatchWrite = (claim: Claim, leaseUntil: number, at: WriteContext): RowWrite => {
  const when = [leaseEndsBefore(leaseUntil), cancelIsNotRequested];
  return byHolder('heartbeat', claim, { when, set: { leaseUntil, heartbeatAt: at.now } }, at);
};

/** Leaves the lease alone: only heartbeats prove that the worker is alive. */
export const checkpointWrite = (
  claim: Claim,
  kept: {
    readonly seq: number;
    readonly checkpoint?: StoredText;
    readonly progress?: StoredText;
    readonly counts?: Pick<ClaimCounts, 'crashes' | 'lapses' | 'releases'>;
  },
  at: WriteContext,
): RowWrite => {
  const { seq, checkpoint, progress, counts } = kept;
  const set = { checkpointSeq: seq, ...stored({ checkpoint, progress }), ...counts };
  return byHolder('checkpoint', claim, { when: [checkpointIsNewer(seq)], set }, at);
};

export const completeWrite = (
  claim: Claim,
  result: StoredText | undefined,
  at: WriteContext,
  progress?: StoredText,
): RowWrite =>
  byHolder(
    'complete',
    claim,
    {
      set: {
        status: 'done',
        ...stored({ result, progress }),
        ...finishedAttributes(at),
        ...claimEnded(claim, at.now, 'done'),
      },
      remove: ['leaseUntil'],
    },
    at,
  );

const backToQueue =
  (transition: 'retry' | 'release', outcome: ClaimEnd) =>
  (claim: Claim, next: QueuedEnd<StoredText>, at: WriteContext): RowWrite => {
    const { errors, releases, lastError, dispatch } = next;
    const set = {
      ...pendingAttributes(claim.jobId, dispatch, at.shards),
      errors,
      releases,
      ...stored({ lastError }),
      ...claimEnded(claim, at.now, outcome, lastError),
    };
    return byHolder(transition, claim, { set }, at);
  };

export const retryWrite = backToQueue('retry', 'retried');

/** Spends no budget unless charged as an error. */
export const releaseWrite = backToQueue('release', 'released');

export const failWrite = (claim: Claim, end: FailedEnd<StoredText>, at: WriteContext): RowWrite => {
  const { errors, crashes, releases, lastError } = end;
  const set = {
    status: 'failed',
    errors,
    crashes,
    releases,
    ...stored({ lastError }),
    ...failedAttributes(claim.jobId, at.now, at.shards),
    ...finishedAttributes(at),
    ...claimEnded(claim, at.now, 'failed', lastError),
  };
  return byHolder('fail', claim, { set }, at);
};

/** One write, because the host has held the lease throughout. */
export const restartWrite = (claim: Claim, next: Restart<StoredText>, at: WriteContext): RowWrite => {
  const { owner, leaseMs, crashes, releases, lastError, diedAt } = next;
  const set = {
    attempt: claim.attempt + 1,
    leaseOwner: owner,
    leaseUntil: at.now + leaseMs,
    startedAt: at.now,
    heartbeatAt: at.now,
    crashes,
    releases,
    ...stored({ lastError }),
    ...claimEnded(claim, diedAt, 'crashed', lastError),
  };
  return byHolder('restart', claim, { when: [isNotToBeCancelled], set, returns: 'row' }, at);
};

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

export const cancelRunningWrite = (claim: Claim, at: WriteContext): RowWrite => {
  const set = { ...cancelledAttributes(at), ...claimEnded(claim, at.now, 'cancelled') };
  return byHolder('cancelRunning', claim, { when: [cancelIsRequested], set, remove: ['leaseUntil'] }, at);
};

export const pendingAttributes = (jobId: string, dispatch: Dispatch, shards: number) => ({
  status: 'pending',
  leaseShard: pendingShard(jobId, shards),
  leaseUntil: dispatch.leaseUntil,
  notBefore: dispatch.notBefore,
  dispatches: dispatch.dispatches,
});

/** Indexed by failure time in separate shards that no sweep reads. */
export const failedAttributes = (jobId: string, now: number, shards: number) => ({
  leaseShard: failedShard(jobId, shards),
  leaseUntil: now,
});

export const finishedAttributes = ({ now, expiresAt }: WriteContext) => ({ finishedAt: now, expiresAt });

export const cancelledAttributes = (at: WriteContext) => ({ status: 'cancelled', ...finishedAttributes(at) });

export const claimEnded = (claim: Claim, now: number, outcome: ClaimEnd, cause?: StoredText) => {
  const past: PastClaim = {
    attempt: claim.attempt,
    owner: claim.owner,
    from: claim.startedAt,
    to: now,
    outcome,
    cause:
      cause === undefined ? undefined : shortCause(typeof cause === 'string' ? cause : (cause.head ?? '')),
  };
  return { [claimAttribute(claim.attempt)]: defined({ ...past }) };
};
