import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Chance, Clock } from '../jobs/ports.ts';

const NANOSECONDS_PER_MS = 1e6;

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  // Not performance.now(), which starts from zero in every thread: a worker and its heart compare their readings.
  monotonic: () => Number(process.hrtime.bigint()) / NANOSECONDS_PER_MS,
  async sleep(ms, signal) {
    try {
      await delay(ms, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      // The caller gave a reason for waking up; Node hides it behind an AbortError.
      throw signal?.aborted ? signal.reason : error;
    }
  },
};

/** The machine's own chance. */
export const systemChance: Chance = {
  random: () => Math.random(),
  unique: () => randomBytes(9).toString('base64url'),
};
