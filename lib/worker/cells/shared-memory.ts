import { readSync, writeSync } from 'node:fs';
import type { ClockReading } from '../run/lease-clock.ts';

export interface RunGrant {
  readonly run: number;
  /** See `stopNumberOf`; 0 for none. */
  readonly stop: number;
  readonly limitMs: number;
  readonly endsAt: ClockReading;
}

export interface SharedBytes {
  read(into: Uint8Array, position: number): void;
  write(from: Uint8Array, position: number): void;
}

export const SHARED_DESCRIPTOR = 4;
/** Six numbers between two copies of the version. */
const RECORD_BYTES = 64;
export const SHARED_BYTES = 2001 * RECORD_BYTES;
const MOST_LOOKS = 100;

const pulseRecord = 0;
const grantRecord = (slot: number) => 2 * slot + 1;
const begunRecord = (slot: number) => 2 * slot + 2;

export type SharedMemory = ReturnType<typeof createSharedMemory>;

/** Read without messages, so that a handler that blocks its event loop sees its lease. Each record has one writer. */
export function createSharedMemory(bytes: SharedBytes) {
  const numbers = new Float64Array(RECORD_BYTES / Float64Array.BYTES_PER_ELEMENT);
  const buffer = new Uint8Array(numbers.buffer);
  let version = 0;

  const write = (record: number, ...values: readonly number[]): void => {
    numbers.set(values, 1);
    numbers[0] = numbers[7] = ++version;
    bytes.write(buffer, record * RECORD_BYTES);
  };
  const read = (record: number): Float64Array => {
    // Versions differ only during a write, which takes an instant.
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
      bytes.read(buffer, record * RECORD_BYTES);
      if (numbers[0] === numbers[7]) break;
    }
    return numbers;
  };

  return {
    grant: (slot: number, { run, stop, limitMs, endsAt }: RunGrant): void =>
      write(grantRecord(slot), run, stop, limitMs, endsAt.wall, endsAt.monotonic),
    granted(slot: number): RunGrant {
      const [, run = 0, stop = 0, limitMs = 0, wall = 0, monotonic = 0] = read(grantRecord(slot));
      return { run, stop, limitMs, endsAt: { wall, monotonic } };
    },
    begin: (slot: number, run: number, progress = 0): void => write(begunRecord(slot), run, progress),
    begun(slot: number): { readonly run: number; readonly progress: number } {
      const [, run = 0, progress = 0] = read(begunRecord(slot));
      return { run, progress };
    },
    /** Rises while the event loop turns. */
    beat: (pulse: number): void => write(pulseRecord, pulse),
    pulse: (): number => read(pulseRecord)[1] ?? 0,
  };
}

export const fileBytes = (descriptor: number): SharedBytes => ({
  read: (into, position) => void into.fill(0, readSync(descriptor, into, 0, into.length, position)),
  write: (from, position) => void writeSync(descriptor, from, 0, from.length, position),
});
