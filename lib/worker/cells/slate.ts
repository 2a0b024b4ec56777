import { closeSync, readSync, writeSync } from 'node:fs';
import { cutToBytes } from '../../protocol/rows/json-text.ts';
import type { ClockReading } from '../run/lease-clock.ts';
import { openUnnamedFile } from './unnamed-file.ts';

/**
 * Memory that a host and one of its cells share: a file without a name, read and written by position. A handler that has
 * computed for minutes has read no message, but one look at the slate (2 microseconds) tells it whether its lease still
 * holds. And what a dying process writes there is not lost with its channel.
 */

/** What a slot says of the run that has it. */
export interface SlotEntry {
  readonly run: number;
  /** 0 while nothing was said against the run; else the number of the reason to stop. */
  readonly revoked: number;
  /** A number that belongs to the reason. */
  readonly detail: number;
  /** The lease: when it was last granted, and for how long. */
  readonly grantedAt: ClockReading;
  readonly leaseMs: number;
}

/** What a cell says of itself while its channel may be deaf. */
interface CellSigns {
  /** Rises while the cell's event loop turns. */
  readonly pulse: number;
}

/** What a cell says of the run in a slot. */
interface SlotSigns {
  /** The run whose handler was started last. */
  readonly started: number;
  /** Rises from 0 with every sign of its progress. */
  readonly progress: number;
}

export interface HostSlate {
  /** To be passed to the cell. */
  readonly descriptor: number;
  write(slot: number, entry: SlotEntry): void;
  signs(): CellSigns;
  slotSigns(slot: number): SlotSigns;
  /** What the cell wrote as it died, if it did. */
  lastWords(): string | undefined;
  close(): void;
}

export interface CellSlate {
  read(slot: number): SlotEntry;
  pulse(): void;
  started(slot: number, run: number): void;
  progress(slot: number): void;
  /** Only the first words count: what a process does while it falls apart explains nothing. */
  lastWords(text: string): void;
  /** They were not the last: the process goes on. */
  takeBackWords(): void;
}

/** Where the slate is among the descriptors that a cell is started with. */
export const SLATE_DESCRIPTOR = 4;

const NUMBER = 8;
const PULSE_AT = 0;
const WORDS_LENGTH_AT = NUMBER;
const WORDS_AT = 2 * NUMBER;
const MAX_WORDS = 8 * 1024;
const SLOTS_AT = 16 * 1024;
/** The host writes the first half of a slot, the cell the second: nobody overwrites the other. */
const SLOT = 128;
const CELL_PART = 64;
/** As many as a process may run jobs; further ones find their room later. */
const SLOTS = 1000;
/** Version, run, revoked, detail, wall, monotonic, length, version. */
const ENTRY = 8;
const MOST_LOOKS = 100;

const slotAt = (slot: number) => SLOTS_AT + slot * SLOT;

function readNumbers(descriptor: number, into: Float64Array, position: number): void {
  const bytes = new Uint8Array(into.buffer);
  const got = readSync(descriptor, bytes, 0, bytes.length, position);
  // What was never written reads as zeros, past the end of the file as within it.
  if (got < bytes.length) bytes.fill(0, got);
}

/** A new slate, known only by its descriptor. */
export function createSlate(folders?: readonly string[]): HostSlate {
  const descriptor = openUnnamedFile('slate', slotAt(SLOTS), folders);
  const entry = new Float64Array(ENTRY);
  const entryBytes = new Uint8Array(entry.buffer);
  const pair = new Float64Array(2);
  let version = 0;
  let open = true;
  return {
    descriptor,
    write(slot, { run, revoked, detail, grantedAt, leaseMs }) {
      if (!open) return;
      version += 1;
      entry.set([version, run, revoked, detail, grantedAt.wall, grantedAt.monotonic, leaseMs, version]);
      writeSync(descriptor, entryBytes, 0, ENTRY * NUMBER, slotAt(slot));
    },
    signs() {
      readNumbers(descriptor, pair, PULSE_AT);
      return { pulse: pair[0] ?? 0 };
    },
    slotSigns(slot) {
      readNumbers(descriptor, pair, slotAt(slot) + CELL_PART);
      return { started: pair[0] ?? 0, progress: pair[1] ?? 0 };
    },
    lastWords() {
      readNumbers(descriptor, pair, PULSE_AT);
      const length = Math.min(MAX_WORDS, Math.max(0, Math.floor(pair[1] ?? 0)));
      if (!(length > 0)) return undefined;
      const bytes = Buffer.alloc(length);
      const text = bytes.toString('utf8', 0, readSync(descriptor, bytes, 0, length, WORDS_AT));
      return text.split('\0', 1)[0];
    },
    close() {
      if (open) closeSync(descriptor);
      open = false;
    },
  };
}

/** The slate of a cell that never was. */
export const blankSlate: HostSlate = {
  descriptor: -1,
  write() {},
  signs: () => ({ pulse: 0 }),
  slotSigns: () => ({ started: 0, progress: 0 }),
  lastWords: () => undefined,
  close() {},
};

/** The slate as the cell sees it. */
export function openSlate(descriptor: number): CellSlate {
  const entry = new Float64Array(ENTRY);
  const one = new Float64Array(1);
  const oneBytes = new Uint8Array(one.buffer);
  const signs = new Float64Array(2);
  const signBytes = new Uint8Array(signs.buffer);
  const progress = new Map<number, number>();
  let pulses = 0;
  let hasSpoken = false;
  const writeNumber = (value: number, position: number) => {
    one[0] = value;
    writeSync(descriptor, oneBytes, 0, NUMBER, position);
  };
  return {
    read(slot) {
      // Both versions are the same unless the host is just writing; then it is done in an instant.
      for (let looks = 0; looks < MOST_LOOKS; looks++) {
        readNumbers(descriptor, entry, slotAt(slot));
        if (entry[0] === entry[7]) break;
      }
      const [, run = 0, revoked = 0, detail = 0, wall = 0, monotonic = 0, leaseMs = 0] = entry;
      return { run, revoked, detail, grantedAt: { wall, monotonic }, leaseMs };
    },
    pulse: () => writeNumber(++pulses, PULSE_AT),
    started(slot, run) {
      progress.delete(slot);
      signs[0] = run;
      writeSync(descriptor, signBytes, 0, 2 * NUMBER, slotAt(slot) + CELL_PART);
    },
    progress(slot) {
      const count = (progress.get(slot) ?? 0) + 1;
      progress.set(slot, count);
      writeNumber(count, slotAt(slot) + CELL_PART + NUMBER);
    },
    lastWords(text) {
      if (hasSpoken) return;
      hasSpoken = true;
      const bytes = Buffer.from(cutToBytes(text, MAX_WORDS));
      writeSync(descriptor, bytes, 0, bytes.length, WORDS_AT);
      writeNumber(bytes.length, WORDS_LENGTH_AT);
    },
    takeBackWords() {
      hasSpoken = false;
      writeNumber(0, WORDS_LENGTH_AT);
    },
  };
}
