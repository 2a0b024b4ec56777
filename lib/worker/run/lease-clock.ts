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
 * How long a claim's lease still holds. It runs from the moment at which the claim or the last good heartbeat was *sent*,
 * by whichever clock says that more time has passed: the wall clock counts while a machine sleeps, the monotonic one
 * cannot be set back.
 */
export interface LeaseClock {
  /** A beat sent at this moment was accepted, for a lease of this length. */
  renew(sentAt: ClockReading, leaseMs: number): void;
  /** The last renewal. */
  grant(): { readonly grantedAt: ClockReading; readonly leaseMs: number };
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
  /** Hears of renewals; returns how to stop listening. */
  onRenewal(listener: () => void): () => void;
}

/** A new lease, sent at this moment. */
export function createLeaseClock(clock: Clock, sentAt: ClockReading, leaseMs: number): LeaseClock {
  let grantedAt = sentAt;
  let length = leaseMs;
  let state: 'held' | 'refused' | 'ended' = 'held';
  let progressAt = clock.monotonic();
  const listeners = new Set<() => void>();
  const sinceRenewalMs = () =>
    Math.max(clock.now() - grantedAt.wall, clock.monotonic() - grantedAt.monotonic);
  const remainingMs = () => length - sinceRenewalMs();
  return {
    renew(at, ms) {
      grantedAt = at;
      length = ms;
      for (const listener of listeners) listener();
    },
    grant: () => ({ grantedAt, leaseMs: length }),
    remainingMs,
    sinceRenewalMs,
    isHeld: () => state === 'held' && remainingMs() > 0,
    refuse() {
      if (state === 'held') state = 'refused';
    },
    end() {
      state = 'ended';
    },
    hasEnded: () => state === 'ended',
    noteProgress() {
      progressAt = clock.monotonic();
    },
    silentForMs: () => clock.monotonic() - progressAt,
    onRenewal(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
