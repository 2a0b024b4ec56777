import { readSync, writeSync } from 'node:fs';
import type { ClockReading } from '../run/lease-clock.ts';

export interface RunGrant {
  readonly run: number;
  /** See `stopNumberOf`; 0 for none. */
  readonly stop: number;
  readonly limitMs: number;
  /** The earlier of the two counts. */
  readonly endsAt: ClockReading;
}

export interface SharedBytes {
  read(into: Uint8Array, position: number): void;
  write(from: Uint8Array, position: number): void;
}

export const SHARED_DESCRIPTOR = 4;
/** Six numbers between two copies of the version. */
const RECORD_BYTES = 64;
/** Two records per run; later runs reuse slots. */
export const SHARED_BYTES = 2001 * RECORD_BYTES;
const MOST_LOOKS = 100;

const pulseRecord = 0;
const grantRecord = (slot: number) => 2 * slot + 1;
const begunRecord = (slot: number) => 2 * slot + 2;

/** Read without messages, so a handler that computes for minutes sees its lease. Each record has one writer. */
export class SharedMemory {
  readonly #bytes: SharedBytes;
  readonly #numbers = new Float64Array(RECORD_BYTES / Float64Array.BYTES_PER_ELEMENT);
  readonly #record = new Uint8Array(this.#numbers.buffer);
  #version = 0;

  constructor(bytes: SharedBytes) {
    this.#bytes = bytes;
  }

  /** Host to cell. */
  grant(slot: number, { run, stop, limitMs, endsAt }: RunGrant): void {
    this.#write(grantRecord(slot), run, stop, limitMs, endsAt.wall, endsAt.monotonic);
  }

  granted(slot: number): RunGrant {
    const [, run = 0, stop = 0, limitMs = 0, wall = 0, monotonic = 0] = this.#read(grantRecord(slot));
    return { run, stop, limitMs, endsAt: { wall, monotonic } };
  }

  /** Cell to host: the run started and reported progress this often. */
  begin(slot: number, run: number, progress = 0): void {
    this.#write(begunRecord(slot), run, progress);
  }

  begun(slot: number): { readonly run: number; readonly progress: number } {
    const [, run = 0, progress = 0] = this.#read(begunRecord(slot));
    return { run, progress };
  }

  /** Cell to host: rises while the event loop turns. */
  beat(pulse: number): void {
    this.#write(pulseRecord, pulse);
  }

  pulse(): number {
    return this.#read(pulseRecord)[1] ?? 0;
  }

  #write(record: number, ...numbers: readonly number[]): void {
    this.#numbers.set(numbers, 1);
    this.#numbers[0] = this.#numbers[7] = ++this.#version;
    this.#bytes.write(this.#record, record * RECORD_BYTES);
  }

  #read(record: number): Float64Array {
    // Versions differ only during a write, which takes an instant.
    for (let looks = 0; looks < MOST_LOOKS; looks++) {
      this.#bytes.read(this.#record, record * RECORD_BYTES);
      if (this.#numbers[0] === this.#numbers[7]) break;
    }
    return this.#numbers;
  }
}

export const fileBytes = (descriptor: number): SharedBytes => ({
  read: (into, position) => void into.fill(0, readSync(descriptor, into, 0, into.length, position)),
  write: (from, position) => void writeSync(descriptor, from, 0, from.length, position),
});
