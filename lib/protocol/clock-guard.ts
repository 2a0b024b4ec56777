/**
 * Compares this machine's clock with DynamoDB's, from the `Date` header of its replies. The header has a resolution of a
 * second, so a single reply pins the offset to within half a second plus half the round trip; the guard refuses only what
 * even that uncertainty cannot excuse.
 */
export interface ClockGuard {
  observe(reply: { readonly sentAt: number; readonly receivedAt: number; readonly date: string }): void;
  /** The best estimate of the offset, undefined before the first usable reply. */
  offset(): ClockOffset | undefined;
  /** Whether this process may claim and reap. Unknown counts as sound: no reply means no write either. */
  isSound(): boolean;
}

export interface ClockOffset {
  /** Positive when this clock is ahead. */
  readonly offsetMs: number;
  readonly uncertaintyMs: number;
  readonly measuredAt: number;
}

const HALF_A_SECOND = 500;
/** Newer replies displace older ones after this time even when they are less certain: clocks drift and get set. */
const TRUSTED_FOR_MS = 30_000;

export function createClockGuard({ skewMs }: { readonly skewMs: number }): ClockGuard {
  let best: ClockOffset | undefined;
  return {
    observe({ sentAt, receivedAt, date }) {
      const serverAt = Date.parse(date);
      if (Number.isNaN(serverAt)) return;
      const halfTrip = Math.max(0, receivedAt - sentAt) / 2;
      const measured: ClockOffset = {
        offsetMs: sentAt + halfTrip - (serverAt + HALF_A_SECOND),
        uncertaintyMs: HALF_A_SECOND + halfTrip,
        measuredAt: receivedAt,
      };
      if (best === undefined || replaces(measured, best)) best = measured;
    },
    offset: () => best,
    isSound: () => best === undefined || Math.abs(best.offsetMs) - best.uncertaintyMs <= skewMs / 2,
  };
}

/** More certain, or the old one is stale, or the two contradict each other: then the clock was set in between. */
const replaces = (measured: ClockOffset, best: ClockOffset): boolean =>
  measured.uncertaintyMs <= best.uncertaintyMs ||
  Math.abs(measured.measuredAt - best.measuredAt) > TRUSTED_FOR_MS ||
  Math.abs(measured.offsetMs - best.offsetMs) > measured.uncertaintyMs + best.uncertaintyMs;
