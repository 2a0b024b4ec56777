import type { JobStatus } from './job.ts';

/**
 * Every write to the table: nothing else changes a row. These tables are the source of the diagram in docs/state-machine.md
 * and of the table-driven tests; the writes themselves are in the folder `writes`, and can carry no other name.
 * @internal
 */
export interface Transition {
  readonly by: 'worker' | 'reaper' | 'operator' | 'doctor';
  readonly from: readonly (JobStatus | 'absent')[];
  /** `same`: the job keeps its status. */
  readonly to: JobStatus | 'same';
  /** What must be true of the row, in words. */
  readonly when: string;
  /** How the writer recognises its own success after the reply was lost. */
  readonly proof: string;
}

const CHANGED_BY = '`changedBy` is this call’s';
const MINE = 'lease is mine (owner and attempt)';
const OBSERVED = 'attempt and lease end as observed';
/** Where counts are written as well: a checkpoint changes them and leaves the lease as it is. */
const COUNTS_OBSERVED = 'attempt, lease end and crashes as observed';
const AS_SCANNED = 'status, attempt, lease end and `changedBy` as the scan saw them';
const ANY: readonly JobStatus[] = ['pending', 'running', 'done', 'failed', 'cancelled'];

/** Every way in which a job's row can change. @internal */
export const jobTransitions = {
  claim: {
    by: 'worker',
    from: ['absent', 'pending'],
    to: 'running',
    when: 'absent (with a job message, never by a hint), or pending, due and not to be cancelled; never mine before',
    proof: '`leaseOwner` is this claim’s',
  },
  schedule: {
    by: 'worker',
    from: ['absent'],
    to: 'pending',
    when: 'no row yet',
    proof: CHANGED_BY,
  },
  heartbeat: {
    by: 'worker',
    from: ['running'],
    to: 'running',
    when: `${MINE}, lease ends earlier than the new end`,
    proof: 'mine, and the lease ends at the new end or later',
  },
  checkpoint: {
    by: 'worker',
    from: ['running'],
    to: 'running',
    when: `${MINE}, sequence number is newer`,
    proof: 'mine, and the sequence number is this one or newer',
  },
  complete: {
    by: 'worker',
    from: ['running'],
    to: 'done',
    when: MINE,
    proof: 'done, with my owner and attempt',
  },
  tidy: {
    by: 'worker',
    from: ['running'],
    to: 'running',
    when: `${MINE}, no checkpoint since; moves texts to rows of their own, or renews those before they expire`,
    proof: CHANGED_BY,
  },
  retry: { by: 'worker', from: ['running'], to: 'pending', when: MINE, proof: CHANGED_BY },
  fail: { by: 'worker', from: ['running'], to: 'failed', when: MINE, proof: CHANGED_BY },
  restart: {
    by: 'worker',
    from: ['running'],
    to: 'running',
    when: `${MINE}, not to be cancelled; ends this claim and grants the next one`,
    proof: '`leaseOwner` is the next claim’s',
  },
  release: { by: 'worker', from: ['running'], to: 'pending', when: MINE, proof: CHANGED_BY },
  releaseUnknown: {
    by: 'worker',
    from: ['running'],
    to: 'pending',
    when: 'owner is this claim’s (its attempt is unknown: the reply never came)',
    proof: CHANGED_BY,
  },
  cancelRunning: {
    by: 'worker',
    from: ['running'],
    to: 'cancelled',
    when: `${MINE}, cancellation requested`,
    proof: CHANGED_BY,
  },
  cancelPending: {
    by: 'worker',
    from: ['pending'],
    to: 'cancelled',
    when: 'cancellation requested, attempt as observed',
    proof: CHANGED_BY,
  },
  reclaim: {
    by: 'reaper',
    from: ['running'],
    to: 'pending',
    when: `${COUNTS_OBSERVED}; excused only where that was not done twice in a row already`,
    proof: CHANGED_BY,
  },
  quarantine: { by: 'reaper', from: ['running'], to: 'failed', when: COUNTS_OBSERVED, proof: CHANGED_BY },
  failLapsed: { by: 'reaper', from: ['running'], to: 'failed', when: COUNTS_OBSERVED, proof: CHANGED_BY },
  redispatch: { by: 'reaper', from: ['pending'], to: 'pending', when: OBSERVED, proof: CHANGED_BY },
  cancelLapsed: {
    by: 'reaper',
    from: ['pending', 'running'],
    to: 'cancelled',
    when: `${OBSERVED}, cancellation requested`,
    proof: CHANGED_BY,
  },
  cancel: {
    by: 'operator',
    from: ['pending'],
    to: 'cancelled',
    when: 'pending, attempt and lease end as read',
    proof: CHANGED_BY,
  },
  requestCancel: {
    by: 'operator',
    from: ['running'],
    to: 'running',
    when: 'running, attempt as read',
    proof: CHANGED_BY,
  },
  takeBack: {
    by: 'operator',
    from: ['running'],
    to: 'pending',
    when: 'running, attempt as read',
    proof: CHANGED_BY,
  },
  revive: {
    by: 'operator',
    from: ['failed', 'cancelled'],
    to: 'pending',
    when: 'status, attempt and time of finishing as read; due when it was to run, if that is still ahead and not overridden',
    proof: CHANGED_BY,
  },
  reject: {
    by: 'worker',
    from: ['absent'],
    to: 'failed',
    when: 'no row yet under `bad:<job id that it named>`, else `bad:<message id>`',
    proof: 'the row is there',
  },
  repairToPending: {
    by: 'doctor',
    from: ['pending', 'running'],
    to: 'pending',
    when: `${AS_SCANNED}, and no sweep could find the row`,
    proof: CHANGED_BY,
  },
  repairHint: {
    by: 'doctor',
    from: ['pending'],
    to: 'pending',
    when: `${AS_SCANNED}, and its next hint was too far away`,
    proof: CHANGED_BY,
  },
  repairIndex: {
    by: 'doctor',
    from: ['done', 'failed', 'cancelled'],
    to: 'same',
    when: `${AS_SCANNED}, and the row was not in its place in the index: failed ones in an f shard, others nowhere`,
    proof: CHANGED_BY,
  },
  repairAttributes: {
    by: 'doctor',
    from: ANY,
    to: 'same',
    when: `${AS_SCANNED}, and the attributes to be mended, too`,
    proof: CHANGED_BY,
  },
  repairByFailing: {
    by: 'doctor',
    from: ANY,
    to: 'failed',
    when: `${AS_SCANNED}, and the row could not be mended`,
    proof: CHANGED_BY,
  },
} as const satisfies Record<string, Transition>;

/** A write to a row that is not a job. */
interface OtherTransition {
  readonly when: string;
  readonly proof: string;
}

const MY_LEAD = 'the lead is mine (name and epoch)';
const SAID_AGAIN = 'applied again, to the same effect';

/** Every way in which the reaper's own row can change. @internal */
export const leaderTransitions = {
  takeLead: {
    when: 'no row yet, nobody leads, the lead has ended, or it is mine',
    proof: 'applied again, with the next epoch',
  },
  extendLead: { when: MY_LEAD, proof: SAID_AGAIN },
  releaseLead: { when: MY_LEAD, proof: SAID_AGAIN },
  armWake: {
    when: 'the wake is the one that was read, or there is none',
    proof: 'the wake is this call’s',
  },
  renewWake: { when: 'the wake is the one that was read, and due earlier', proof: SAID_AGAIN },
  keepBreaker: { when: 'the breaker is kept otherwise', proof: SAID_AGAIN },
  oldFailuresListed: {
    when: 'the row is still as version 0.1 left it',
    proof: 'applied before, to the same effect',
  },
  raiseShards: { when: 'the kept number of shards is lower', proof: 'the number is this one or higher' },
} as const satisfies Record<string, OtherTransition>;

/** Every write to the rows that keep what is too large for a job's own. A job's row points to them, or they mean nothing. @internal */
export const dataTransitions = {
  putData: { when: 'no row under this key, which is used once', proof: 'the row is there' },
  replaceData: {
    when: 'no row under this key, or one with an older checkpoint of the same claim',
    proof: 'the row is there, with this checkpoint or a newer one',
  },
} as const satisfies Record<string, OtherTransition>;

/** @internal */
export type JobTransitionName = keyof typeof jobTransitions;
export type TransitionName =
  | JobTransitionName
  | keyof typeof leaderTransitions
  | keyof typeof dataTransitions;
