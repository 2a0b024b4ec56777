import type { Settings } from './settings.ts';

/** EventBridge Scheduler is precise to 60 s. */
export const SCHEDULE_JITTER_MS = 60_000;
/** From the query to the reclaim. */
const SWEEP_ALLOWANCE_MS = 500;
/** SQS delays by whole seconds, and delivers within half of one. */
const WAKE_ALLOWANCE_MS = 1500;

type Lapse = Pick<Settings, 'skewMs'>;
type Looking = Pick<Settings, 'reaperIntervalMs' | 'minSweepIntervalMs'>;

const untilLook = ({ reaperIntervalMs, minSweepIntervalMs }: Looking) => ({
  usual: Math.max(WAKE_ALLOWANCE_MS, minSweepIntervalMs) + SWEEP_ALLOWANCE_MS,
  worst: reaperIntervalMs + SCHEDULE_JITTER_MS + SWEEP_ALLOWANCE_MS,
});

/** From a worker's death, right after a renewal, to the reclaim of its job. */
export function recoveryBound(settings: Pick<Settings, 'leaseMs'> & Lapse & Looking): RecoveryBound {
  const lapse = settings.leaseMs + settings.skewMs;
  const { usual, worst } = untilLook(settings);
  return { usualMs: lapse + usual, worstMs: lapse + worst };
}

/** From a lease's end to the reclaim while the chain of wakes holds; bounds `ReclaimDelay`. */
export const reclaimDelayBound = (settings: Lapse & Looking): number =>
  settings.skewMs + untilLook(settings).usual;

export interface RecoveryBound {
  /** While the chain of wakes holds, or a process sweeps. */
  readonly usualMs: number;
  /** After a lost wake or a dead reaper, when the schedule starts another as late as it may. */
  readonly worstMs: number;
}
