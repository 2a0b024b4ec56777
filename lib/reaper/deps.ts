import type { ClockGuard } from '../jobs/clock-guard.ts';
import type { Clock, Events, JobQueue, JobStore, Table, Telemetry } from '../jobs/ports.ts';
import type { Settings } from '../jobs/settings.ts';

/** What a reaper works with. */
export interface ReaperDeps {
  readonly table: Table;
  readonly store: Pick<JobStore, 'reapMany'>;
  readonly queue: Pick<JobQueue, 'sendHints'>;
  readonly telemetry: Telemetry;
  readonly events: Events;
  readonly clock: Clock;
  readonly settings: Settings;
  /** Without one, the clock counts as sound. */
  readonly clockGuard?: ClockGuard;
}

/**
 * The longest a reaper may go without looking. A claim that the last look did not see cannot lapse sooner than the
 * shortest lease and the skew after it; and a leader must look again before its own lead runs out.
 */
export const lookAgainMs = (s: Pick<Settings, 'minLeaseMs' | 'skewMs' | 'leaderLeaseMs'>): number =>
  Math.min(s.minLeaseMs + s.skewMs, Math.floor(s.leaderLeaseMs * LEAD_KEPT));
const LEAD_KEPT = 0.8;
