import type { Clock } from '../../protocol/ports.ts';

export interface ClockReading {
  readonly wall: number;
  readonly monotonic: number;
}

export const readClock = (clock: Clock): ClockReading => ({
  wall: clock.now(),
  monotonic: clock.monotonic(),
});

export type LeaseClock = ReturnType<typeof createLeaseClock>;

/** The clock that has advanced further decides: the wall clock runs during sleep, and the monotonic one cannot be set back. */
export function createLeaseClock(clock: Clock, sentAt: ClockReading, leaseMs: number) {
  let grantedAt = sentAt;
  let state: 'held' | 'refused' | 'ended' = 'held';
  let progressAt = clock.monotonic();
  let onRenewal: (() => void) | undefined;

  const sinceRenewalMs = (): number =>
    Math.max(clock.now() - grantedAt.wall, clock.monotonic() - grantedAt.monotonic);
  const remainingMs = (): number => leaseMs - sinceRenewalMs();

  return {
    sinceRenewalMs,
    remainingMs,
    renew(beatSentAt: ClockReading): void {
      if (beatSentAt.monotonic < grantedAt.monotonic) return;
      grantedAt = beatSentAt;
      onRenewal?.();
    },
    endsAt: (): ClockReading => ({
      wall: grantedAt.wall + leaseMs,
      monotonic: grantedAt.monotonic + leaseMs,
    }),
    isHeld: (): boolean => state === 'held' && remainingMs() > 0,
    refuse(): void {
      if (state === 'held') state = 'refused';
    },
    end(): void {
      state = 'ended';
    },
    hasEnded: (): boolean => state === 'ended',
    noteProgress(): void {
      progressAt = clock.monotonic();
    },
    silentForMs: (): number => clock.monotonic() - progressAt,
    listen(listener: (() => void) | undefined): void {
      onRenewal = listener;
    },
  };
}
