import { ROW_FORMAT } from '../../wire/table.ts';
import type { Claim, JobStatus, LeaseEntry } from '../job.ts';
import type { Clause } from './row-write.ts';

/** The conditions of the protocol, each named for what must be true. */

export const rowIsAbsent: Clause = { attribute: 'jobId', is: 'absent' };

export const statusIs = (status: JobStatus): Clause => ({
  attribute: 'status',
  is: 'equal',
  value: status,
});

export const attemptIs = (attempt: number): Clause => ({
  attribute: 'attempt',
  is: 'equal',
  value: attempt,
});

/** Due, by a clock that may be off by the allowed skew. */
export const isDue = (now: number, skewMs: number): Clause => ({
  attribute: 'notBefore',
  is: 'atMost',
  value: now + skewMs,
});

export const isNotToBeCancelled: Clause = { attribute: 'cancelRequested', is: 'differs', value: true };

export const cancelIsRequested: Clause = { attribute: 'cancelRequested', is: 'equal', value: true };

/** As `isNotToBeCancelled`, in a form that a batch statement can say; a row without the attribute is refused. */
export const cancelIsNotRequested: Clause = { attribute: 'cancelRequested', is: 'equal', value: false };

/** A claim's own retry, after its reply was lost and the job came back, must not claim a second time. */
export const wasNeverMine = (owner: string): Clause => ({
  attribute: 'leaseOwner',
  is: 'differs',
  value: owner,
});

/** Fenced twice: the owner tells claims of different workers apart, the attempt two claims of one worker. */
export const leaseIsMine = (claim: Claim): readonly Clause[] => [
  statusIs('running'),
  { attribute: 'leaseOwner', is: 'equal', value: claim.owner },
  attemptIs(claim.attempt),
];

/** For a claim whose reply never came: its attempt is unknown, but its owner is like no other claim's. */
export const leaseIsOwnedBy = (owner: string): readonly Clause[] => [
  statusIs('running'),
  { attribute: 'leaseOwner', is: 'equal', value: owner },
];

export const leaseEndsBefore = (leaseUntil: number): Clause => ({
  attribute: 'leaseUntil',
  is: 'below',
  value: leaseUntil,
});

export const leaseEndsAt = (leaseUntil: number): Clause => ({
  attribute: 'leaseUntil',
  is: 'equal',
  value: leaseUntil,
});

export const finishedAtIs = (finishedAt: number): Clause => ({
  attribute: 'finishedAt',
  is: 'equal',
  value: finishedAt,
});

/** What the index showed is still so: stale reads and rival reapers are refused here. */
export const leaseIsAsObserved = (entry: LeaseEntry): readonly Clause[] => [
  statusIs(entry.status),
  attemptIs(entry.attempt),
  leaseEndsAt(entry.leaseUntil),
];

/** A checkpoint forgives crashes and leaves the lease as it is: an index that lags shows the lease rightly, and more crashes than there are. */
export const crashesAre = (crashes: number): Clause => ({
  attribute: 'crashes',
  is: 'equal',
  value: crashes,
});

export const checkpointIsNewer = (seq: number): Clause => ({
  attribute: 'checkpointSeq',
  is: 'below',
  value: seq,
});

/** No checkpoint came since the row was read; a row of an old or foreign writer may have no number. */
export const checkpointIsStill = (seq: number | undefined): Clause =>
  seq === undefined
    ? { attribute: 'checkpointSeq', is: 'absent' }
    : { attribute: 'checkpointSeq', is: 'equal', value: seq };

/** As many acts of operators as were read; a row on which nobody has acted has no count. */
export const actedIs = (acted: number): Clause =>
  acted === 0 ? { attribute: 'acted', is: 'absent' } : { attribute: 'acted', is: 'equal', value: acted };

/** Written by this version or an older one. */
export const formatIsKnown: Clause = { attribute: 'format', is: 'absentOrAtMost', value: ROW_FORMAT };

/** As `formatIsKnown`, in two forms that a batch statement can say. */
export const formatIsToday: Clause = { attribute: 'format', is: 'equal', value: ROW_FORMAT };
export const hasNoFormat: Clause = { attribute: 'format', is: 'absent' };

/** The terms are the type's own, or a producer's. */
export const termsAreSettled: Clause = { attribute: 'defaultTerms', is: 'absent' };
export const termsAreDefaults: Clause = { attribute: 'defaultTerms', is: 'present' };
