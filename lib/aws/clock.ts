import { randomBytes } from 'node:crypto';
import { clearTimeout, setTimeout } from 'node:timers';
import type { Clock, Random } from '../protocol/ports.ts';

const NANOSECONDS_PER_MS = 1e6;
// Handlers may replace the global ones.
const { now } = Date;
const { bigint: nanoseconds } = process.hrtime;

export const systemClock: Clock = {
  now: () => now(),
  // Unlike `performance.now()`, comparable between threads.
  monotonic: () => Number(nanoseconds()) / NANOSECONDS_PER_MS,
  // The promise of node:timers builds an AbortError with a stack for every aborted wait, and most are aborted.
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
/** One call for many names costs about as much as for one. */
const POOL_BYTES = UNIQUE_BYTES * 128;
let pool = Buffer.alloc(0);

function unique(): string {
  if (pool.length < UNIQUE_BYTES) pool = randomBytes(POOL_BYTES);
  const bytes = pool.subarray(0, UNIQUE_BYTES);
  pool = pool.subarray(UNIQUE_BYTES);
  return bytes.toString('base64url');
}

export const systemRandom: Random = { next: () => Math.random(), unique };
