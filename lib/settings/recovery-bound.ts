import { leaseLength } from './lease-length.ts';
import type { Settings } from './settings.ts';

/** The schedule starts a reaper within this time of its minute: EventBridge Scheduler is precise to 60 s. */
export const SCHEDULE_JITTER_MS = 60_000;
/** A sweep's own time, from the query to the reclaim. */
const SWEEP_ALLOWANCE_MS = 500;
/** SQS delays by whole seconds, and delivers within half of one. */
const WAKE_ALLOWANCE_MS = 1500;

type Lapse = Pick<Settings, 'skewMs' | 'graceMs'>;
type Looking = Pick<Settings, 'reaperIntervalMs' | 'minSweepIntervalMs' | 'timeScale'>;

/** How long a lapsed lease may wait for the next look. */
const untilLook = ({ reaperIntervalMs, minSweepIntervalMs, timeScale }: Looking) => ({
  usual: Math.max(WAKE_ALLOWANCE_MS, minSweepIntervalMs) + SWEEP_ALLOWANCE_MS,
  worst: reaperIntervalMs + SCHEDULE_JITTER_MS / timeScale + SWEEP_ALLOWANCE_MS,
});

/**
 * The longest time, in ms, from a worker's death to the reclaim of its job, by the settings alone: a lease that was renewed
 * in the instant of death, the clock skew and grace, and then how long until a reaper looks.
 */
export function recoveryBound(
  settings: Pick<Settings, 'leaseMs' | 'leaseGrowth' | 'leaseGrowthCapMs' | 'maxRunMs'> & Lapse & Looking,
): RecoveryBound {
  const lapse =
    leaseLength(settings.leaseMs, settings.maxRunMs, settings) + settings.skewMs + settings.graceMs;
  const { usual, worst } = untilLook(settings);
  return { usualMs: lapse + usual, worstMs: lapse + Math.max(usual, worst) };
}

/**
 * The longest time, in ms, from the end of a lease to the reclaim of its job while every reaper wakes the next: what the
 * metric ReclaimDelay must stay below. It is the usual bound without the lease itself, which depends on the job.
 */
export const reclaimDelayBound = (settings: Lapse & Looking): number =>
  settings.skewMs + settings.graceMs + untilLook(settings).usual;

export interface RecoveryBound {
  /** While each reaper wakes the next, or one in a process watches. */
  readonly usualMs: number;
  /** After a wake was lost or a reaper died: the schedule starts another, as late as it may. */
  readonly worstMs: number;
}
