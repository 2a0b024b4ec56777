import { randomBytes } from 'node:crypto';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import type { Chance, Clock } from '../jobs/ports.ts';

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
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
