import { actAttribute, BAD_MESSAGE_PREFIX, BAD_MESSAGE_TYPE, ROW_FORMAT } from '../../wire/table.ts';
import type { Dispatch } from '../decisions/dispatch.ts';
import { claimOf, type Job, type OperatorAct, type RunningJob } from '../job.ts';
import { actedIs, attemptIs, finishedAtIs, leaseEndsAt, rowIsAbsent, statusIs } from './clauses.ts';
import type { Clause, RowWrite } from './row-write.ts';
import {
  cancelledAttributes,
  claimEnded,
  failedAttributes,
  finishedAttributes,
  pendingAttributes,
  WAITING,
  type WriteContext,
} from './worker-writes.ts';

/** Status and attempt can recur (cancel, then revive), so the count of acts refuses a late repeat. */
const asRead = (job: Job): readonly Clause[] => {
  const seen = [statusIs(job.status), attemptIs(job.attempt), actedIs(job.acted)];
  switch (job.status) {
    case 'pending':
      return [...seen, leaseEndsAt(job.leaseUntil)];
    case 'running':
      return seen;
    default:
      return [...seen, finishedAtIs(job.finishedAt)];
  }
};

/** The condition names the act's number, so no act overwrites another. */
const byOperator = (
  job: Job,
  act: OperatorAct['act'],
  set: RowWrite['set'],
  { changedBy, now }: WriteContext,
) => ({
  jobId: job.jobId,
  when: [asRead(job)],
  set: {
    ...set,
    acted: job.acted + 1,
    [actAttribute(job.acted)]: { act, by: changedBy.split('/', 1)[0] ?? '', at: now },
    changedBy,
  },
  returns: 'row' as const,
});

/** A running job's worker sees the request at its next heartbeat. */
export const cancelWrite = (
  job: Job & { readonly status: 'pending' | 'running' },
  at: WriteContext,
): RowWrite =>
  job.status === 'pending'
    ? {
        ...byOperator(job, 'cancel', cancelledAttributes(at), at),
        transition: 'cancel',
        remove: ['leaseUntil', ...WAITING],
      }
    : { ...byOperator(job, 'cancel', { cancelRequested: true }, at), transition: 'requestCancel' };

/** `attempt` keeps its value, so that old claims stay fenced. */
export const reviveWrite = (
  job: Job & { readonly status: 'failed' | 'cancelled' },
  dispatch: Dispatch,
  at: WriteContext,
): RowWrite => {
  const counts = { errors: 0, crashes: 0, lapses: 0, releases: 0, cancelRequested: false };
  const set = { ...pendingAttributes(job.jobId, dispatch, at.shards), ...counts };
  return {
    ...byOperator(job, 'revive', set, at),
    transition: 'revive',
    remove: ['expiresAt', 'finishedAt', 'result'],
  };
};

/** Fences the worker; counts as a release. */
export const takeBackWrite = (job: RunningJob, dispatch: Dispatch, at: WriteContext): RowWrite => {
  const set = {
    ...pendingAttributes(job.jobId, dispatch, at.shards),
    ...claimEnded(claimOf(job), at.now, 'takenBack'),
  };
  return {
    ...byOperator(job, 'takeBack', set, at),
    transition: 'takeBack',
    // Added by DynamoDB, because a checkpoint may have turned crashes and lapses into releases since the read.
    sum: { releases: { of: 'releases', otherwise: 0, plus: 1 } },
  };
};

/** Stored apart from job rows for its producer to find. */
export interface RejectedMessage {
  readonly messageId: string;
  readonly jobId?: string;
  readonly reason: string;
  readonly text: string;
  readonly bytes: number;
  readonly sha256: string;
}

export const badMessageKey = (name: string): string => `${BAD_MESSAGE_PREFIX}${name}`;

export const rejectWrite = (message: RejectedMessage, name: string, at: WriteContext): RowWrite => ({
  transition: 'reject',
  jobId: badMessageKey(name),
  when: [[rowIsAbsent]],
  set: {
    status: 'failed',
    type: BAD_MESSAGE_TYPE,
    payload: 'null',
    messageId: message.messageId,
    rawText: message.text,
    rawBytes: message.bytes,
    rawSha256: message.sha256,
    lastError: message.reason,
    leaseMs: 0,
    attempt: 0,
    errors: 0,
    crashes: 0,
    lapses: 0,
    releases: 0,
    maxAttempts: 1,
    maxCrashes: 1,
    checkpointSeq: 0,
    cancelRequested: false,
    createdAt: at.now,
    format: ROW_FORMAT,
    ...failedAttributes(name, at.now, at.shards),
    ...finishedAttributes(at),
    changedBy: at.changedBy,
  },
  returns: 'nothing',
});
