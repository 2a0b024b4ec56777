import { type Claim, claimOf, type RunningJob } from '../../protocol/job.ts';
import type { Group } from '../../protocol/limits/group.ts';
import type { Clock } from '../../protocol/ports.ts';
import { type ClockReading, createLeaseClock, type LeaseClock } from './lease-clock.ts';

export interface HeldClaim {
  readonly job: RunningJob;
  readonly claim: Claim;
  readonly lease: LeaseClock;
  /** Monotonic. */
  readonly startedAt: number;
  readonly stopping: AbortSignal;
  readonly group?: Group;
}

export const holdClaim = (
  clock: Clock,
  job: RunningJob,
  sentAt: ClockReading,
  stopping: AbortSignal,
  group?: Group,
): HeldClaim => ({
  job,
  claim: claimOf(job),
  lease: createLeaseClock(clock, sentAt, job.leaseMs),
  startedAt: sentAt.monotonic,
  stopping,
  group,
});

export const nameOf = ({ jobId, type, attempt }: RunningJob) => ({ jobId, type, attempt });
