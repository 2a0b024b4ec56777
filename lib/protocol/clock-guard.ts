import type { Clock } from './ports.ts';

export type ClockGuard = ReturnType<typeof createClockGuard>;

export interface ClockOffset {
  /** Positive when this clock is ahead. */
  readonly offsetMs: number;
  readonly uncertaintyMs: number;
  readonly measuredAt: number;
}

const HALF_A_SECOND = 500;
/** Clocks drift, so after this time a less certain reply may replace the measurement. */
const TRUSTED_FOR_MS = 30_000;

/** Compares this clock with the `Date` header of DynamoDB's replies, which has a resolution of one second. */
export function createClockGuard(options: {
  readonly skewMs: number;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
}) {
  const { skewMs, clock } = options;
  let best: ClockOffset | undefined;
  /** Lead of the wall clock over the monotonic one; a change means a step or a suspended machine. */
  let ahead = 0;
  const aheadNow = () => clock.now() - clock.monotonic();
  const hasStepped = () => best !== undefined && Math.abs(aheadNow() - ahead) > skewMs / 4;
  return {
    observe({ tookMs, receivedAt, date }: { tookMs: number; receivedAt: number; date: string }): void {
      const serverAt = Date.parse(date);
      if (Number.isNaN(serverAt)) return;
      const halfTrip = tookMs / 2;
      const measured: ClockOffset = {
        offsetMs: receivedAt - halfTrip - (serverAt + HALF_A_SECOND),
        uncertaintyMs: HALF_A_SECOND + halfTrip,
        measuredAt: receivedAt,
      };
      if (best !== undefined && !hasStepped() && !replaces(measured, best)) return;
      best = measured;
      ahead = aheadNow();
    },
    /** Undefined before the first usable reply and after a clock step. */
    offset: () => (hasStepped() ? undefined : best),
    /** Whether this process may claim and reap. An unknown offset counts as sound, a stepped clock does not. */
    isSound: (): boolean =>
      best === undefined || (!hasStepped() && Math.abs(best.offsetMs) - best.uncertaintyMs <= skewMs / 2),
  };
}

/** Contradicting measurements mean that the clock was set in between. */
const replaces = (measured: ClockOffset, best: ClockOffset): boolean =>
  measured.uncertaintyMs <= best.uncertaintyMs ||
  Math.abs(measured.measuredAt - best.measuredAt) > TRUSTED_FOR_MS ||
  Math.abs(measured.offsetMs - best.offsetMs) > measured.uncertaintyMs + best.uncertaintyMs;
