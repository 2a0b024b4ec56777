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
  const look = async () => {
    await askTheTime().catch(() => {});
  };
  return {
    look,
    async isSound() {
      if (guard.isSound()) return true;
      await look();
      const offsetMs = Math.round(guard.offset()?.offsetMs ?? 0);
      telemetry.gauge('ClockOffset', offsetMs);
      if (guard.isSound()) return true;
      telemetry.warn('this clock is too far from DynamoDB’s: no job is claimed', { offsetMs });
      return false;
    },
  };
}

/** For tests and engines whose clock is this machine's own. */
export const trustTheClock: ClockCheck = { look: async () => {}, isSound: async () => true };
