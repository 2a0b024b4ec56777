import type { JobStatus } from './job.ts';

/**
 * Every way in which a job's row can change. This table is the source of the diagram in docs/state-machine.md and of the
 * table-driven tests; the writes themselves are in worker-writes, reaper-writes and operator-writes.
 */
export interface Transition {
  readonly by: 'worker' | 'reaper' | 'operator' | 'dead-letter consumer';
  readonly from: readonly (JobStatus | 'absent')[];
  readonly to: JobStatus;
  /** What must be true of the row, in words. */
  readonly when: string;
  /** How the writer recognises its own success after the reply was lost. */
  readonly proof: string;
}

const CHANGED_BY = '`changedBy` is this call’s';
const MINE = 'lease is mine (owner and attempt)';
const OBSERVED = 'attempt and lease end as observed';

export const transitions = {
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
  retry: { by: 'worker', from: ['running'], to: 'pending', when: MINE, proof: CHANGED_BY },
  fail: { by: 'worker', from: ['running'], to: 'failed', when: MINE, proof: CHANGED_BY },
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
  reclaim: { by: 'reaper', from: ['running'], to: 'pending', when: OBSERVED, proof: CHANGED_BY },
  quarantine: { by: 'reaper', from: ['running'], to: 'failed', when: OBSERVED, proof: CHANGED_BY },
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
    when: 'status, attempt and time of finishing as read',
    proof: CHANGED_BY,
  },
  reject: {
    by: 'worker',
    from: ['absent'],
    to: 'failed',
    when: 'no row yet under `bad:<message id>`',
    proof: 'the row is there',
  },
} as const satisfies Record<string, Transition>;

export type TransitionName = keyof typeof transitions;
