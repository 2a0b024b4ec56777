import type { Clock } from '../../protocol/ports.ts';

/** One timer for many who wait: a timer of its own for each job would cost more than the job. */
export interface Alarm {
  /** Rings after this time at the latest. */
  within(ms: number): void;
  stop(): void;
}

export function createAlarm(clock: Clock, ring: () => void): Alarm {
  let dueAt = Number.POSITIVE_INFINITY;
  let waiting: AbortController | undefined;
  return {
    within(ms) {
      const at = clock.monotonic() + ms;
      if (at >= dueAt) return;
      dueAt = at;
      waiting?.abort('sooner');
      const mine = new AbortController();
      waiting = mine;
      clock.sleep(ms, mine.signal).then(
        () => {
          if (waiting !== mine) return;
          dueAt = Number.POSITIVE_INFINITY;
          ring();
        },
        () => {},
      );
    },
    stop() {
      waiting?.abort('stopped');
      dueAt = Number.POSITIVE_INFINITY;
    },
  };
}
