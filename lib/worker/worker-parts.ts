import type { Chance, Clock, Events, JobQueue, JobStore, Telemetry } from '../protocol/ports.ts';
import type { Settings } from '../settings/settings.ts';
import type { Cells } from './cells/cells.ts';
import type { Brake } from './run/brake.ts';
import type { Heart } from './run/heart.ts';

/** What a worker is made of. The hosts differ; these parts are the same on Lambda, in a process and in a test. */
export interface WorkerParts {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly store: JobStore;
  readonly queue: JobQueue;
  readonly telemetry: Telemetry;
  readonly events: Events;
  readonly heart: Heart;
  /** Where handlers run. */
  readonly cells: Cells;
  readonly brake: Brake;
  readonly clockCheck: ClockCheck;
  /** This worker's name, first part of the owner of each of its claims. */
  readonly worker: string;
}

/** Whether this machine's clock can be trusted with leases. */
export interface ClockCheck {
  /** Compares the clocks where they have not been, or were found apart. Unknown is not sound. */
  isSound(): Promise<boolean>;
}
