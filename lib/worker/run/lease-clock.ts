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
export class LeaseClock {
  readonly #clock: Clock;
  #grantedAt: ClockReading;
  #leaseMs: number;
  #state: 'held' | 'refused' | 'ended' = 'held';
  #progressAt: number;
  #askedAt = Number.NEGATIVE_INFINITY;
  #onRenewal: (() => void) | undefined;

  /** A new lease, sent at this moment. */
  constructor(clock: Clock, sentAt: ClockReading, leaseMs: number) {
    this.#clock = clock;
    this.#grantedAt = sentAt;
    this.#leaseMs = leaseMs;
    this.#progressAt = clock.monotonic();
  }

  /** A beat sent at this moment was accepted, for a lease of this length. One that was sent before another that holds adds nothing. */
  renew(sentAt: ClockReading, leaseMs: number): void {
    if (sentAt.monotonic < this.#grantedAt.monotonic) return;
    this.#grantedAt = sentAt;
    this.#leaseMs = leaseMs;
    this.#onRenewal?.();
  }

  /** The last renewal. */
  grant(): { readonly grantedAt: ClockReading; readonly leaseMs: number } {
    return { grantedAt: this.#grantedAt, leaseMs: this.#leaseMs };
  }

  /** Time since the claim or the last good beat was sent. */
  sinceRenewalMs(): number {
    const { wall, monotonic } = this.#grantedAt;
    return Math.max(this.#clock.now() - wall, this.#clock.monotonic() - monotonic);
  }

  remainingMs(): number {
    return this.#leaseMs - this.sinceRenewalMs();
  }

  /** Neither lapsed nor refused nor ended. */
  isHeld(): boolean {
    return this.#state === 'held' && this.remainingMs() > 0;
  }

  /** A write showed that the lease is somebody else's. */
  refuse(): void {
    if (this.#state === 'held') this.#state = 'refused';
  }

  /** The store is asked for this claim at this moment: by a beat, or by another write that got no answer. */
  ask(sentAt: ClockReading): void {
    this.#askedAt = sentAt.monotonic;
  }

  /** The store has given no answer since the last good beat: if it has lapsed, that was the store's doing, and it may be nobody's yet. */
  wasUnanswered(): boolean {
    return this.#state === 'held' && this.#askedAt > this.#grantedAt.monotonic;
  }

  /** The claim is over: late replies are ignored. */
  end(): void {
    this.#state = 'ended';
  }

  hasEnded(): boolean {
    return this.#state === 'ended';
  }

  noteProgress(): void {
    this.#progressAt = this.#clock.monotonic();
  }

  /** Time since the last sign of progress, or since the claim. */
  silentForMs(): number {
    return this.#clock.monotonic() - this.#progressAt;
  }

  /** The one who is told of renewals: the cell that has the run, if any. */
  listen(onRenewal: (() => void) | undefined): void {
    this.#onRenewal = onRenewal;
  }
}
