import type { JsonValue } from '../../wire/message.ts';
import { actAttribute, BAD_MESSAGE_PREFIX, BAD_MESSAGE_TYPE, ROW_FORMAT } from '../../wire/table.ts';
import type { Dispatch } from '../decisions/dispatch.ts';
import type { Job, OperatorAct, RunningJob } from '../job.ts';
import type { DataName, DataPointer } from '../rows/data-pointer.ts';
import { actedIs, attemptIs, finishedAtIs, leaseEndsAt, rowIsAbsent, statusIs } from './clauses.ts';
import type { Clause, RowWrite } from './row-write.ts';
import {
  claimEnded,
  failedAttributes,
  finishedAttributes,
  pendingAttributes,
  type WriteContext,
} from './worker-writes.ts';

/**
 * The row as the operator saw it: a job that moved on meanwhile is not touched. Status and attempt alone can come back (a
 * cancelled job that is revived is pending with the same attempt), and then a late repeat of the write would act again.
 */
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

/** The act's entry in the ring of acts. Its number is part of the condition: no operator overwrites another's. */
const acted = (
  job: Job,
  act: OperatorAct['act'],
  { changedBy, now }: Pick<WriteContext, 'changedBy' | 'now'>,
) => ({
  acted: job.acted + 1,
  [actAttribute(job.acted)]: { act, by: changedBy.split('/', 1)[0] ?? '', at: now },
});

/** Ends a pending job; asks the worker of a running one, which sees it in its next heartbeat's reply. */
export const cancelWrite = (
  job: Job & { readonly status: 'pending' | 'running' },
  expiresAt: number,
  { changedBy, now }: WriteContext,
): RowWrite =>
  job.status === 'pending'
    ? {
        transition: 'cancel',
        jobId: job.jobId,
        when: [asRead(job)],
        set: {
          status: 'cancelled',
          ...finishedAttributes(now, expiresAt),
          ...acted(job, 'cancel', { changedBy, now }),
          changedBy,
        },
        remove: ['leaseUntil'],
        returns: 'row',
      }
    : {
        transition: 'requestCancel',
        jobId: job.jobId,
        when: [asRead(job)],
        set: { cancelRequested: true, ...acted(job, 'cancel', { changedBy, now }), changedBy },
        returns: 'row',
      };

/** Runs a failed or cancelled job again. Counters start at 0 again, but not `attempt`: old claims must stay fenced. */
export const reviveWrite = (
  job: Job & { readonly status: 'failed' | 'cancelled' },
  dispatch: Dispatch,
  { changedBy, now, shards }: WriteContext,
  /** Newer copies of data that would expire too soon. */
  renewed: Readonly<Partial<Record<DataName, DataPointer>>> = {},
): RowWrite => ({
  transition: 'revive',
  jobId: job.jobId,
  when: [asRead(job)],
  set: {
    ...pendingAttributes(job.jobId, dispatch, shards),
    errors: 0,
    crashes: 0,
    releases: 0,
    cancelRequested: false,
    ...(renewed as Readonly<Record<string, JsonValue>>),
    format: ROW_FORMAT,
    ...acted(job, 'revive', { changedBy, now }),
    changedBy,
  },
  // `failedAt` is what version 0.1 had an index on.
  remove: ['expiresAt', 'finishedAt', 'failedAt', 'result', 'excuses'],
  returns: 'row',
});

/** Takes a running job from its worker, which is fenced from then on. Counts as a release. */
export const takeBackWrite = (
  job: RunningJob,
  dispatch: Dispatch,
  { changedBy, now, shards }: WriteContext,
): RowWrite => ({
  transition: 'takeBack',
  jobId: job.jobId,
  when: [asRead(job)],
  set: {
    ...pendingAttributes(job.jobId, dispatch, shards),
    ...claimEnded(
      { jobId: job.jobId, owner: job.leaseOwner, attempt: job.attempt, startedAt: job.startedAt },
      now,
      'takenBack',
    ),
    ...acted(job, 'takeBack', { changedBy, now }),
    changedBy,
  },
  // Not from what was read: a checkpoint may have turned crashes into releases since.
  sum: { releases: { of: 'releases', otherwise: 0, plus: 1 } },
  returns: 'row',
});

/** A message that cannot be run, kept for its producer to find: never in the row of a job. */
export interface RejectedMessage {
  readonly messageId: string;
  /** The id that it names, where that is a legal one. */
  readonly jobId?: string;
  readonly reason: string;
  readonly text: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** The key of a rejected message's row. */
export const badMessageKey = (name: string): string => `${BAD_MESSAGE_PREFIX}${name}`;

export const rejectWrite = (
  message: RejectedMessage,
  /** The job id that it named, or its own. */
  name: string,
  expiresAt: number,
  { changedBy, now, shards }: WriteContext,
): RowWrite => ({
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
    releases: 0,
    maxAttempts: 1,
    maxCrashes: 1,
    checkpointSeq: 0,
    cancelRequested: false,
    createdAt: now,
    format: ROW_FORMAT,
    ...failedAttributes(name, now, shards),
    ...finishedAttributes(now, expiresAt),
    changedBy,
  },
  returns: 'nothing',
});
