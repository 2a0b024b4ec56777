import { type Claim, claimOf, type RunningJob } from '../../protocol/job.ts';
import type { Clock } from '../../protocol/ports.ts';
import { type ClockReading, LeaseClock } from './lease-clock.ts';

export interface HeldClaim {
  readonly job: RunningJob;
  readonly claim: Claim;
  readonly lease: LeaseClock;
  /** Monotonic. */
  readonly startedAt: number;
  readonly stopping: AbortSignal;
}

/** The lease runs from when the claim was sent. */
export const holdClaim = (
  clock: Clock,
  job: RunningJob,
  sentAt: ClockReading,
  stopping: AbortSignal,
): HeldClaim => ({
  job,
  claim: claimOf(job),
  lease: new LeaseClock(clock, sentAt, job.leaseMs),
  startedAt: sentAt.monotonic,
  stopping,
});

export const nameOf = ({ jobId, type, attempt }: RunningJob) => ({ jobId, type, attempt });
