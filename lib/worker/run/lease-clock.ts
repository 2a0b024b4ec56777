import type { Clock } from '../../protocol/ports.ts';

export interface ClockReading {
  readonly wall: number;
  readonly monotonic: number;
}

export const readClock = (clock: Clock): ClockReading => ({
  wall: clock.now(),
  monotonic: clock.monotonic(),
});

/**
 * A lease's remaining time, counted from the moment its claim or last beat was sent. The clock that has advanced
 * further decides: the wall clock runs during sleep, and the monotonic one cannot be set back.
 */
export class LeaseClock {
  readonly #clock: Clock;
  #grantedAt: ClockReading;
  readonly #leaseMs: number;
  #state: 'held' | 'refused' | 'ended' = 'held';
  #progressAt: number;
  #onRenewal: (() => void) | undefined;

  constructor(clock: Clock, sentAt: ClockReading, leaseMs: number) {
    this.#clock = clock;
    this.#grantedAt = sentAt;
    this.#leaseMs = leaseMs;
    this.#progressAt = clock.monotonic();
  }

  /** Ignored if a later beat already counts. */
  renew(sentAt: ClockReading): void {
    if (sentAt.monotonic < this.#grantedAt.monotonic) return;
    this.#grantedAt = sentAt;
    this.#onRenewal?.();
  }

  /** The earlier of the two counts. */
  endsAt(): ClockReading {
    const { wall, monotonic } = this.#grantedAt;
    return { wall: wall + this.#leaseMs, monotonic: monotonic + this.#leaseMs };
  }

  sinceRenewalMs(): number {
    const { wall, monotonic } = this.#grantedAt;
    return Math.max(this.#clock.now() - wall, this.#clock.monotonic() - monotonic);
  }

  remainingMs(): number {
    return this.#leaseMs - this.sinceRenewalMs();
  }

  isHeld(): boolean {
    return this.#state === 'held' && this.remainingMs() > 0;
  }

  /** A write showed that another worker holds the lease. */
  refuse(): void {
    if (this.#state === 'held') this.#state = 'refused';
  }

  /** From now on, late replies are ignored. */
  end(): void {
    this.#state = 'ended';
  }

  hasEnded(): boolean {
    return this.#state === 'ended';
  }

  noteProgress(): void {
    this.#progressAt = this.#clock.monotonic();
  }

  silentForMs(): number {
    return this.#clock.monotonic() - this.#progressAt;
  }

  listen(onRenewal: (() => void) | undefined): void {
    this.#onRenewal = onRenewal;
  }
}
