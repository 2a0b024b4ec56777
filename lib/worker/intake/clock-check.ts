import type { ClockGuard } from '../../protocol/clock-guard.ts';
import type { Clock, Telemetry } from '../../protocol/ports.ts';

/** An outage causes many checks. */
const WARNED_EVERY_MS = 60_000;

export type ClockCheck = ReturnType<typeof createClockCheck>;

/** A guard that distrusts the clock or saw it step needs a fresh reply. */
export function createClockCheck(options: {
  readonly guard: ClockGuard;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly telemetry: Pick<Telemetry, 'gauge' | 'warn'>;
  readonly askTheTime: () => Promise<unknown>;
}) {
  const { guard, clock, telemetry, askTheTime } = options;
  let warned = { message: '', at: 0 };
  const isSound = () => guard.offset() !== undefined && guard.isSound();
  return {
    /** Compares clocks if not done since the last step, or if they differed. Unknown is not sound. */
    async isSound(): Promise<boolean> {
      if (isSound()) return true;
      let failure: unknown;
      await askTheTime().catch((error: unknown) => {
        failure = error;
      });
      if (isSound()) return true;
      const offset = guard.offset();
      // Reported only when wrong, because the alarm fires on any report.
      if (offset !== undefined) telemetry.gauge('ClockOffset', Math.round(offset.offsetMs));
      const message =
        offset === undefined
          ? 'this clock could not be compared with DynamoDB’s: no lease is written'
          : 'this clock is too far from DynamoDB’s: no lease is written';
      const at = clock.monotonic();
      if (message === warned.message && at - warned.at < WARNED_EVERY_MS) return false;
      warned = { message, at };
      telemetry.warn(message, {
        offsetMs: offset && Math.round(offset.offsetMs),
        reason: failure instanceof Error ? failure.message : failure,
      });
      return false;
    },
  };
}

export const trustTheClock: ClockCheck = { isSound: async () => true };
