import type { Claim, RunningJob } from '../../protocol/job.ts';
import type { LeaseClock } from './lease-clock.ts';

/** A claim that this worker holds, with its job and its lease. */
export interface HeldClaim {
  readonly job: RunningJob;
  readonly claim: Claim;
  readonly lease: LeaseClock;
  /** Monotonic time of the claim. */
  readonly startedAt: number;
  /** Fires when its host has to go. */
  readonly stopping: AbortSignal;
}

export const nameOf = ({ jobId, type, attempt }: RunningJob) => ({ jobId, type, attempt });
