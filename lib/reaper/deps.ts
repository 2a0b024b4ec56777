import type { ClockGuard } from '../protocol/clock-guard.ts';
import type { Clock, Events, JobQueue, JobStore, Table, Telemetry } from '../protocol/ports.ts';
import type { Settings } from '../settings/settings.ts';

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
