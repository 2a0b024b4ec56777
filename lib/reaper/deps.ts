import type { ClockGuard } from '../protocol/clock-guard.ts';
import type { Clock, Events, JobQueue, JobStore, Random, Table, Telemetry } from '../protocol/ports.ts';
import type { Settings } from '../settings/settings.ts';

export interface ReaperDeps {
  readonly table: Table;
  readonly store: Pick<JobStore, 'reapMany' | 'leave'>;
  readonly queue: Pick<JobQueue, 'sendHints'>;
  readonly telemetry: Telemetry;
  readonly events: Events;
  readonly clock: Clock;
  readonly random: Pick<Random, 'next'>;
  readonly settings: Settings;
  /** Without one, the clock counts as sound. */
  readonly clockGuard?: ClockGuard;
}
