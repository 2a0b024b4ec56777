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
