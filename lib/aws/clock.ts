import { randomBytes } from 'node:crypto';
import type { Chance, Clock } from '../protocol/ports.ts';

const NANOSECONDS_PER_MS = 1e6;

/** The machine's own time. */
export const systemClock: Clock = {
  now: () => Date.now(),
  // Not performance.now(), which starts from zero in every thread: a worker and its heart compare their readings.
  monotonic: () => Number(process.hrtime.bigint()) / NANOSECONDS_PER_MS,
  // Not the promise of node:timers: it makes an AbortError, with its stack, for every wait that is cut short, and most are.
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const wake = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', wake);
        resolve();
      }, ms);
      signal?.addEventListener('abort', wake, { once: true });
    }),
};

const UNIQUE_BYTES = 9;
/** Random bytes are fetched for many names at once: the call costs far more than the bytes. */
const POOL_BYTES = UNIQUE_BYTES * 128;
let pool = Buffer.alloc(0);

function unique(): string {
  if (pool.length < UNIQUE_BYTES) pool = randomBytes(POOL_BYTES);
  const bytes = pool.subarray(0, UNIQUE_BYTES);
  pool = pool.subarray(UNIQUE_BYTES);
  return bytes.toString('base64url');
}

/** The machine's own chance. */
export const systemChance: Chance = { random: () => Math.random(), unique };
