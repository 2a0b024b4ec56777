import type { Chance, Clock, Events, JobQueue, JobStore, Telemetry } from '../protocol/ports.ts';
import type { Settings } from '../settings/settings.ts';
import type { Registry } from './registry.ts';
import type { Heart } from './run/heart.ts';

/** What a worker is made of. The hosts differ; these parts are the same on Lambda, in a process and in a test. */
export interface WorkerParts {
  readonly registry: Registry;
  readonly settings: Settings;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly store: JobStore;
  readonly queue: JobQueue;
  readonly telemetry: Telemetry;
  readonly events: Events;
  readonly heart: Heart;
  readonly clockCheck: ClockCheck;
  /** This worker's name, first part of the owner of each of its claims. */
  readonly worker: string;
}

/** Whether this machine's clock can be trusted with leases. */
export interface ClockCheck {
  /** Compares the clocks now: for hosts with time to spare before their first claim, whose reply would tell it as well. */
  look(): Promise<void>;
  isSound(): Promise<boolean>;
}
