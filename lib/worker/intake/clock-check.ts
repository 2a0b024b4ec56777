import type { ClockGuard } from '../../protocol/clock-guard.ts';
import type { Telemetry } from '../../protocol/ports.ts';
import type { ClockCheck } from '../worker-parts.ts';

/** Asks the guard; one that distrusts the clock is shown a fresh reply first, or it could never change its mind. */
export function createClockCheck(options: {
  readonly guard: ClockGuard;
  readonly telemetry: Pick<Telemetry, 'gauge' | 'warn'>;
  /** Any request to DynamoDB. */
  readonly askTheTime: () => Promise<unknown>;
}): ClockCheck {
  const { guard, telemetry, askTheTime } = options;
  const isSound = () => guard.offset() !== undefined && guard.isSound();
  return {
    async isSound() {
      if (isSound()) return true;
      await askTheTime().catch(() => {});
      if (isSound()) return true;
      const offset = guard.offset();
      // Only then: an alarm takes any report for a wrong clock.
      if (offset !== undefined) telemetry.gauge('ClockOffset', Math.round(offset.offsetMs));
      telemetry.warn(
        offset === undefined
          ? 'this clock could not be compared with DynamoDB’s: no job is claimed'
          : 'this clock is too far from DynamoDB’s: no job is claimed',
        { offsetMs: offset && Math.round(offset.offsetMs) },
      );
      return false;
    },
  };
}

/** For tests and engines whose clock is this machine's own. */
export const trustTheClock: ClockCheck = { isSound: async () => true };
