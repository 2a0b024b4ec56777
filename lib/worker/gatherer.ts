import type { Clock } from '../protocol/ports.ts';
import { createAlarm } from './alarm.ts';

interface GathererOptions {
  readonly clock: Clock;
  readonly full: number;
  readonly ready: () => number;
  readonly waitMs: (ageMs: number) => number;
  readonly send: (count: number) => Promise<unknown>;
}

/** Batches requests: sends once full, or once the oldest has waited long enough. */
export function createGatherer({ clock, full, ready, waitMs, send }: GathererOptions) {
  const pending = new Set<Promise<unknown>>();
  let readySince: number | undefined;
  const alarm = createAlarm(clock, () => look());

  const start = (count: number): void => {
    readySince = undefined;
    const batch = send(count).finally(() => {
      pending.delete(batch);
      look();
    });
    pending.add(batch);
  };
  const look = (): void => {
    for (;;) {
      const count = Math.min(full, ready());
      if (count < 1) {
        readySince = undefined;
        return;
      }
      const now = clock.monotonic();
      readySince ??= now;
      const wait = count === full ? 0 : waitMs(now - readySince);
      if (wait > 0) {
        alarm.within(wait);
        return;
      }
      start(count);
    }
  };
  const quiet = async (): Promise<void> => {
    while (pending.size > 0) await Promise.allSettled(pending);
  };

  return {
    look,
    quiet,
    underWay: (): number => pending.size,
    lookWithin: alarm.within,
    stop: alarm.stop,
    async settle(): Promise<void> {
      for (let count = ready(); count > 0; count = ready()) start(Math.min(full, count));
      await quiet();
    },
  };
}
