import { defined } from '../../wire/defined.ts';
import type { JsonValue } from '../../wire/message.ts';
import { claimAttribute, ROW_FORMAT } from '../../wire/table.ts';
import type { TraceContext } from '../../wire/trace.ts';
import type { Dispatch } from '../decisions/dispatch.ts';
import type { Claim, ClaimCounts, ClaimEnd, PastClaim } from '../job.ts';
import { type DataName, type StoredText, storedValue } from '../rows/data-pointer.ts';
import { shortCause } from '../rows/json-text.ts';
import { failedShard, pendingShard, runningShard } from '../shards.ts';
import {
  attemptIs,
  cancelIsNotRequested,
  cancelIsRequested,
  checkpointIsNewer,
  checkpointIsStill,
  formatIsKnown,
  isDue,
  isNotToBeCancelled,
  leaseEndsBefore,
  leaseIsMine,
  leaseIsOwnedBy,
  rowIsAbsent,
  statusIs,
  termsAreDefaults,
  termsAreSettled,
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
  /** Those of its terms that are the settings' own, because the writer did not know its type: the first claim replaces them. */
  readonly defaultTerms?: readonly TermName[];
  readonly trace?: TraceContext;
}

/** The terms of a job that its type may set. */
export type JobTerms = Pick<NewJob, 'leaseMs' | 'maxAttempts' | 'maxCrashes'>;
type TermName = keyof JobTerms;

/** A job as it goes into its row: with its payload, or a pointer to where that is. */
export type StoredJob = Omit<NewJob, 'payload'> & { readonly payload: StoredText };

/** In every request: who writes, when, and over how many index shards the rows are spread. */
export interface WriteContext {
  readonly changedBy: string;
  readonly now: number;
  readonly shards: number;
}

/** The attributes that a row gets once, from the first message: later messages with the same id change nothing. */
const firstMessageWins = (job: StoredJob, now: number) => ({
  type: job.type,
  payload: storedValue(job.payload),
  leaseMs: job.leaseMs,
  maxAttempts: job.maxAttempts,
  maxCrashes: job.maxCrashes,
  createdAt: now,
  errors: 0,
  crashes: 0,
  releases: 0,
  checkpointSeq: 0,
  cancelRequested: false,
  ...defined({ ...job.trace }),
});

/** Grants a lease: owner, expiry and `running` in one write. By a hint (`jobId` only) the row must exist. */
export function claimWrite(
  request: {
    readonly job: StoredJob | { readonly jobId: string };
    readonly owner: string;
    readonly skewMs: number;
  },
  { changedBy, now, shards }: WriteContext,
): RowWrite {
  const { job, owner, skewMs } = request;
  const isNew = 'payload' in job;
  const isClaimable = [
    statusIs('pending'),
    isDue(now, skewMs),
    isNotToBeCancelled,
    wasNeverMine(owner),
    formatIsKnown,
    termsAreSettled,
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
      format: ROW_FORMAT,
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

/**
 * The first claim of a job whose row was written by somebody who did not know its type: puts the type's terms in the place
 * of the settings'. It names the attempt that was seen, so that it is the claim of that very row.
 */
export function firstTermsWrite(
  claim: RowWrite,
  seen: { readonly attempt: number; readonly terms: Partial<JobTerms> },
  { now }: WriteContext,
): RowWrite {
  const isClaimable = claim.when.at(-1) ?? [];
  const { leaseUntil, ...sum } = claim.sum ?? {};
  const { leaseMs } = seen.terms;
  return {
    ...claim,
    when: [
      [...isClaimable.filter((each) => each !== termsAreSettled), termsAreDefaults, attemptIs(seen.attempt)],
    ],
    set: { ...claim.set, ...seen.terms, ...defined({ leaseUntil: leaseMs && now + leaseMs }) },
    keep: {},
    sum: defined({ ...sum, leaseUntil: leaseMs === undefined ? leaseUntil : undefined }),
    remove: [...(claim.remove ?? []), 'defaultTerms'],
  };
}

/** Keeps a job for later, before its first claim. */
export const scheduleWrite = (
  job: StoredJob,
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
    format: ROW_FORMAT,
    ...defined({ defaultTerms: job.defaultTerms }),
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

/**
 * As `heartbeatWrite`, in a form that a batch can say: it brings nothing back, so it holds only where no cancellation is asked for, and
 * a refusal tells of the rest.
 */
export const heartbeatInBatchWrite = (claim: Claim, leaseUntil: number, at: WriteContext): RowWrite => ({
  ...heartbeatWrite(claim, leaseUntil, at),
  when: [[...leaseIsMine(claim), leaseEndsBefore(leaseUntil), cancelIsNotRequested]],
  keep: {},
  returns: 'nothing',
});

/** Keeps the handler's place. Never touches the lease: only the heart proves that the worker is alive. */
export const checkpointWrite = (
  claim: Claim,
  kept: {
    readonly seq: number;
    readonly checkpoint?: StoredText;
    readonly progress?: StoredText;
    /** Of a claim that made progress for the first time: its crashes are forgiven, and count as releases. */
    readonly counts?: Pick<ClaimCounts, 'crashes' | 'releases'>;
  },
  { changedBy }: WriteContext,
): RowWrite => ({
  transition: 'checkpoint',
  jobId: claim.jobId,
  when: [[...leaseIsMine(claim), checkpointIsNewer(kept.seq)]],
  set: defined({
    checkpointSeq: kept.seq,
    checkpoint: kept.checkpoint && storedValue(kept.checkpoint),
    progress: kept.progress && storedValue(kept.progress),
    ...kept.counts,
    changedBy,
  }),
  ...defined({ remove: kept.counts && ['excuses'] }),
  returns: 'nothing',
});

/** Moves texts of the row to rows of their own, or points to newer copies of those. Never puts an older checkpoint back. */
export const tidyWrite = (
  claim: Claim,
  tidied: {
    readonly texts: Readonly<Partial<Record<DataName, StoredText>>>;
    readonly remove: readonly string[];
    /** As it was read. */
    readonly checkpointSeq: number | undefined;
  },
  { changedBy }: WriteContext,
): RowWrite => ({
  transition: 'tidy',
  jobId: claim.jobId,
  when: [[...leaseIsMine(claim), checkpointIsStill(tidied.checkpointSeq)]],
  set: { ...(tidied.texts as Readonly<Record<string, JsonValue>>), changedBy },
  remove: tidied.remove,
  returns: 'nothing',
});

export const completeWrite = (
  claim: Claim,
  end: { readonly result?: StoredText; readonly expiresAt: number },
  { changedBy, now }: WriteContext,
): RowWrite => ({
  transition: 'complete',
  jobId: claim.jobId,
  when: [leaseIsMine(claim)],
  set: defined({
    status: 'done',
    result: end.result && storedValue(end.result),
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
  next: { readonly errors: number; readonly lastError: StoredText; readonly dispatch: Dispatch },
  { changedBy, now, shards }: WriteContext,
): RowWrite => ({
  transition: 'retry',
  jobId: claim.jobId,
  when: [leaseIsMine(claim)],
  set: {
    ...pendingAttributes(claim.jobId, next.dispatch, shards),
    errors: next.errors,
    lastError: storedValue(next.lastError),
    ...claimEnded(claim, now, 'retried', next.lastError),
    changedBy,
  },
  remove: ['excuses'],
  returns: 'nothing',
});

/** After an error, with no budget left, or none wanted. */
export const failWrite = (
  claim: Claim,
  end: {
    readonly errors: number;
    readonly crashes?: number;
    readonly releases?: number;
    readonly lastError: StoredText;
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
    lastError: storedValue(end.lastError),
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
    readonly lastError: StoredText;
    /** When the cell died: the wait before this write is no part of the attempt. */
    readonly diedAt: number;
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
    lastError: storedValue(next.lastError),
    ...claimEnded(claim, next.diedAt, 'crashed', next.lastError),
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
    /** Lapses in a row that were nobody's fault, where the lease had lapsed. @default - none */
    readonly excuses?: number;
    readonly lastError?: StoredText;
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
    excuses: next.excuses,
    lastError: next.lastError && storedValue(next.lastError),
    ...claimEnded(claim, now, 'released', next.lastError),
    changedBy,
  }),
  remove: next.excuses === undefined ? ['excuses'] : [],
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
