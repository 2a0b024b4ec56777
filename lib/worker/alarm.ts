import type { Clock } from '../protocol/ports.ts';

/** One timer for all waiters: a timer per job would cost more than the job. */
export function createAlarm(clock: Clock, ring: () => void) {
  let dueAt = Number.POSITIVE_INFINITY;
  let waiting: AbortController | undefined;
  return {
    within(ms: number) {
      const at = clock.monotonic() + ms;
      if (at >= dueAt) return;
      dueAt = at;
      waiting?.abort('sooner');
      const mine = new AbortController();
      waiting = mine;
      clock.sleep(ms, mine.signal).then(
        () => {
          if (waiting !== mine) return;
          waiting = undefined;
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
