import type { ControlReader } from '../protocol/limits/control.ts';
import type { Clock, Events, JobQueue, JobStore, Random, Telemetry } from '../protocol/ports.ts';
import type { Settings } from '../settings/settings.ts';
import type { Routing } from '../wire/pools.ts';
import type { Cells } from './cells/cells.ts';
import type { ClockCheck } from './intake/clock-check.ts';
import type { CrashThrottle } from './run/crash-throttle.ts';
import type { Heart } from './run/heart-loop.ts';

/** The same on Lambda, in a process and in tests. */
export interface WorkerParts {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly random: Random;
  readonly store: JobStore;
  readonly queue: JobQueue;
  readonly telemetry: Telemetry;
  readonly events: Events;
  readonly heart: Heart;
  readonly cells: Cells;
  readonly crashThrottle: CrashThrottle;
  readonly clockCheck: ClockCheck;
  /** @default - one pool, which runs every type */
  readonly routing?: Routing;
  /** @default - nothing is paused and no limit changed */
  readonly control?: ControlReader;
  readonly worker: string;
}
