import type { JobStatus } from './job.ts';
import type { controlTransitions, limitTransitions } from './limits/limit-transitions.ts';

/** Every write to the table: the source of docs/internals/state-machine.md and of the table-driven tests. @internal */
export interface Transition {
  readonly by: 'worker' | 'reaper' | 'operator' | 'doctor';
  readonly from: readonly (JobStatus | 'absent')[];
  readonly to: JobStatus | 'same';
  readonly when: string;
  /** How the writer recognizes its own success after a lost reply. */
  readonly proof: string;
}

const CHANGED_BY = '`changedBy` is this call’s';
const ENDED = 'the row lists this claim’s end';
/** The row has this claim's `leaseOwner` and `attempt`. */
const MINE = 'mine';
const OBSERVED = 'attempt and lease as observed';
/** Includes lapses, because a checkpoint forgives them without moving the lease. */
const LAPSES_OBSERVED = 'attempt, lease, and lapses as observed';
const AS_SCANNED = 'status, attempt, lease, and `changedBy` as scanned';
const ANY: readonly JobStatus[] = ['pending', 'running', 'done', 'failed', 'cancelled'];

/** @internal */
export const jobTransitions = {
  claim: {
    by: 'worker',
    from: ['absent', 'pending'],
    to: 'running',
    when: 'no row yet (job messages only), or pending, due, of the message’s type, and no cancellation requested; the last claim was another',
    proof: '`leaseOwner` is this claim’s',
  },
  schedule: {
    by: 'worker',
    from: ['absent'],
    to: 'pending',
    when: 'no row yet; due later, or its limit is full, or its type is paused',
    proof: CHANGED_BY,
  },
  heartbeat: {
    by: 'worker',
    from: ['running'],
    to: 'running',
    when: `${MINE}, and the lease ends before the new end`,
    proof: 'mine, and the lease ends at the new end or later',
  },
  checkpoint: {
    by: 'worker',
    from: ['running'],
    to: 'running',
    when: `${MINE}, and the sequence number is newer`,
    proof: 'mine, and the sequence number is this one or newer',
  },
  complete: {
    by: 'worker',
    from: ['running'],
    to: 'done',
    when: MINE,
    proof: 'done, with my owner and attempt',
  },
  retry: { by: 'worker', from: ['running'], to: 'pending', when: MINE, proof: ENDED },
  fail: { by: 'worker', from: ['running'], to: 'failed', when: MINE, proof: ENDED },
  restart: {
    by: 'worker',
    from: ['running'],
    to: 'running',
    when: `${MINE}, and no cancellation requested; ends this claim and grants the next one`,
    proof: '`leaseOwner` is the next claim’s',
  },
  release: { by: 'worker', from: ['running'], to: 'pending', when: MINE, proof: ENDED },
  releaseUnknown: {
    by: 'worker',
    from: ['running'],
    to: 'pending',
    when: 'the owner is this claim’s; the attempt is unknown',
    proof: CHANGED_BY,
  },
  park: {
    by: 'worker',
    from: ['pending'],
    to: 'pending',
    when: 'pending, attempt and lease as read; its limit is full, or its type is paused',
    proof: CHANGED_BY,
  },
  parkClaim: { by: 'worker', from: ['running'], to: 'pending', when: MINE, proof: ENDED },
  cancelRunning: {
    by: 'worker',
    from: ['running'],
    to: 'cancelled',
    when: `${MINE}, and cancellation requested`,
    proof: ENDED,
  },
  reclaim: { by: 'reaper', from: ['running'], to: 'pending', when: LAPSES_OBSERVED, proof: CHANGED_BY },
  quarantine: { by: 'reaper', from: ['running'], to: 'failed', when: LAPSES_OBSERVED, proof: CHANGED_BY },
  redispatch: { by: 'reaper', from: ['pending'], to: 'pending', when: OBSERVED, proof: CHANGED_BY },
  finishCancel: {
    by: 'reaper',
    from: ['pending', 'running'],
    to: 'cancelled',
    when: `${OBSERVED}, and cancellation requested; also by a worker that claims the pending job`,
    proof: CHANGED_BY,
  },
  cancel: {
    by: 'operator',
    from: ['pending'],
    to: 'cancelled',
    when: 'pending, attempt and lease as read',
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
    when: 'status, attempt, and time of finishing as read',
    proof: CHANGED_BY,
  },
  reject: {
    by: 'worker',
    from: ['absent'],
    to: 'failed',
    when: 'no row yet under `bad:<job id>` or `bad:<message id>`',
    proof: 'the row exists',
  },
  repairToPending: {
    by: 'doctor',
    from: ['pending', 'running'],
    to: 'pending',
    when: `${AS_SCANNED}; no sweep can find the row`,
    proof: CHANGED_BY,
  },
  repair: {
    by: 'doctor',
    from: ANY,
    to: 'same',
    when: `${AS_SCANNED}, and so are the attributes that it repairs`,
    proof: CHANGED_BY,
  },
  repairByFailing: {
    by: 'doctor',
    from: ANY,
    to: 'failed',
    when: `${AS_SCANNED}; the row cannot be repaired`,
    proof: CHANGED_BY,
  },
} as const satisfies Record<string, Transition>;

/** A write to a row that is not a job. */
export interface OtherTransition {
  readonly when: string;
  readonly proof: string;
}

export const REPEATABLE = 'harmless to repeat';

/** @internal */
export const leaderTransitions = {
  scheduleNext: {
    when: 'the wake is as read, or there is none',
    proof: 'the wake is this call’s',
  },
  renewWake: { when: 'the wake is as read, and due earlier', proof: REPEATABLE },
  releaseWake: { when: 'the holder is this reaper', proof: REPEATABLE },
  raiseShards: { when: 'the stored number of shards is lower', proof: 'the number is this one or higher' },
} as const satisfies Record<string, OtherTransition>;

/** @internal */
export const dataTransitions = {
  putData: {
    when: 'no row under this key, or an older text (by claim and number)',
    proof: 'the row has this text or a newer one',
  },
  extendData: { when: 'the row expires earlier', proof: REPEATABLE },
} as const satisfies Record<string, OtherTransition>;

/** @internal */
export type JobTransitionName = keyof typeof jobTransitions;
export type TransitionName =
  | JobTransitionName
  | keyof typeof leaderTransitions
  | keyof typeof limitTransitions
  | keyof typeof controlTransitions
  | keyof typeof dataTransitions;
