import { leaseLength } from './lease-length.ts';
import type { Settings } from './settings.ts';

/** The schedule starts a reaper within this time of its minute; EventBridge promises no better. */
export const SCHEDULE_JITTER_MS = 60_000;
/** A sweep's own time, from the query to the reclaim. */
const SWEEP_ALLOWANCE_MS = 500;

/**
 * The longest time, in ms, from a worker's death to the reclaim of its job, by the settings alone: a lease that was renewed
 * in the instant of death, the clock skew and grace, and then how long until a reaper looks.
 */
export function recoveryBound(
  settings: Pick<
    Settings,
    | 'leaseMs'
    | 'leaseGrowth'
    | 'leaseGrowthCapMs'
    | 'maxRunMs'
    | 'skewMs'
    | 'graceMs'
    | 'watch'
    | 'watchMs'
    | 'reaperIntervalMs'
    | 'minSweepIntervalMs'
    | 'timeScale'
  >,
): RecoveryBound {
  const lapse =
    leaseLength(settings.leaseMs, settings.maxRunMs, settings) + settings.skewMs + settings.graceMs;
  const { nextTick, gap } = scheduleOf(settings);
  const watched = lapse + settings.minSweepIntervalMs + SWEEP_ALLOWANCE_MS;
  switch (settings.watch) {
    case 'always':
      return { watchedMs: watched, worstMs: watched + gap };
    case 'whileBusy':
      return { watchedMs: watched, worstMs: Math.max(watched + gap, nextTick + SWEEP_ALLOWANCE_MS) };
    case 'never':
      return { watchedMs: undefined, worstMs: lapse + nextTick + SWEEP_ALLOWANCE_MS };
  }
}

/**
 * The longest time, in ms, from the end of a lease to the reclaim of its job: what the metric ReclaimDelay must stay below.
 * It is the recovery bound without the lease itself, which depends on the job.
 */
export function reclaimDelayBound(
  settings: Pick<Settings, 'skewMs' | 'graceMs' | 'watch' | 'minSweepIntervalMs' | 'minLeaseMs'> & Schedule,
): number {
  const held = settings.skewMs + settings.graceMs;
  const { nextTick, gap } = scheduleOf(settings);
  const watched = held + settings.minSweepIntervalMs + SWEEP_ALLOWANCE_MS;
  switch (settings.watch) {
    case 'always':
      return watched + gap;
    case 'whileBusy':
      // A claim just after the last reaper ended: its lease, however short, runs until the next tick.
      return Math.max(watched + gap, nextTick + SWEEP_ALLOWANCE_MS - settings.minLeaseMs);
    case 'never':
      return held + nextTick + SWEEP_ALLOWANCE_MS;
  }
}

type Schedule = Pick<Settings, 'reaperIntervalMs' | 'watchMs' | 'timeScale'>;

/** The longest wait for the next reaper, and how much of it a watch that began at the last tick leaves uncovered. */
function scheduleOf({ reaperIntervalMs, watchMs, timeScale }: Schedule) {
  const nextTick = reaperIntervalMs + SCHEDULE_JITTER_MS / timeScale;
  return { nextTick, gap: Math.max(0, nextTick - watchMs) };
}

export interface RecoveryBound {
  /** While a reaper is watching; undefined when none ever does. */
  readonly watchedMs: number | undefined;
  /** In the worst case: a crash just after the last reaper ended, and a tick that comes as late as it may. */
  readonly worstMs: number;
}
