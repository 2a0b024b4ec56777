import type { Clock } from '../../protocol/ports.ts';

/** A moment by both clocks. */
export interface ClockReading {
  readonly wall: number;
  readonly monotonic: number;
}

export const readClock = (clock: Clock): ClockReading => ({
  wall: clock.now(),
  monotonic: clock.monotonic(),
});

/**
 * How long a claim's lease still holds, in memory that the worker's thread and its heart's thread both read. The lease
 * runs from the moment at which the claim or the last good heartbeat was *sent*, by whichever clock says that more time
 * has passed: the wall clock counts while a machine sleeps, the monotonic one cannot be set back.
 */
export interface LeaseClock {
  readonly memory: SharedArrayBuffer;
  /** A beat sent at this moment was accepted, for a lease of this length. */
  renew(sentAt: ClockReading, leaseMs: number): void;
  remainingMs(): number;
  /** Time since the claim or the last good beat was sent. */
  sinceRenewalMs(): number;
  /** Neither lapsed nor refused nor ended. */
  isHeld(): boolean;
  /** A write showed that the lease is somebody else's. */
  refuse(): void;
  /** The claim is over: late replies are ignored. */
  end(): void;
  hasEnded(): boolean;
  noteProgress(): void;
  /** Time since the last sign of progress, or since the claim. */
  silentForMs(): number;
}

const WALL = 0;
const MONOTONIC = 1;
const LENGTH = 2;
const STATE = 3;
const PROGRESS = 4;
const CELLS = 5;

const HELD = 0n;
const REFUSED = 1n;
const ENDED = 2n;

/** A new lease, sent at this moment. */
export function createLeaseClock(clock: Clock, sentAt: ClockReading, leaseMs: number): LeaseClock {
  const lease = openLeaseClock(clock, new SharedArrayBuffer(CELLS * BigInt64Array.BYTES_PER_ELEMENT));
  lease.renew(sentAt, leaseMs);
  lease.noteProgress();
  return lease;
}

/** The same lease, seen from another thread. */
export function openLeaseClock(clock: Clock, memory: SharedArrayBuffer): LeaseClock {
  const cells = new BigInt64Array(memory);
  const read = (cell: number) => Number(Atomics.load(cells, cell));
  const write = (cell: number, value: number) => void Atomics.store(cells, cell, BigInt(Math.floor(value)));
  const sinceRenewalMs = () => Math.max(clock.now() - read(WALL), clock.monotonic() - read(MONOTONIC));
  const remainingMs = () => read(LENGTH) - sinceRenewalMs();
  return {
    memory,
    // The moment before the length: a reader in between sees the lease too short for an instant, never too long,
    // because a lease never shrinks.
    renew(sentAt, leaseMs) {
      write(WALL, sentAt.wall);
      write(MONOTONIC, sentAt.monotonic);
      write(LENGTH, leaseMs);
    },
    remainingMs,
    sinceRenewalMs,
    isHeld: () => Atomics.load(cells, STATE) === HELD && remainingMs() > 0,
    refuse: () => void Atomics.compareExchange(cells, STATE, HELD, REFUSED),
    end: () => void Atomics.store(cells, STATE, ENDED),
    hasEnded: () => Atomics.load(cells, STATE) === ENDED,
    noteProgress: () => write(PROGRESS, clock.monotonic()),
    silentForMs: () => clock.monotonic() - read(PROGRESS),
  };
}
