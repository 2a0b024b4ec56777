import type { LeaseholdEvent } from '../wire/events.ts';
import type { Clock, Events, Telemetry } from './ports.ts';
import { waitAtMost } from './wait-at-most.ts';

export type EventOutlet = ReturnType<typeof createEventOutlet>;

const MAX_WAITING = 10_000;
const PUBLISHED_AT_ONCE = 100;
const PATIENCE_MS = 3000;

/** Publishes in the background; drops and counts events beyond a bounded backlog. */
export function createEventOutlet({
  events,
  telemetry,
  clock,
}: {
  readonly events: Events;
  readonly telemetry: Pick<Telemetry, 'error' | 'warn'>;
  readonly clock: Pick<Clock, 'sleep'>;
}) {
  let waiting: LeaseholdEvent[] = [];
  let dropped = 0;
  let draining: Promise<void> | undefined;

  const drain = async () => {
    while (waiting.length > 0) {
      const batch = waiting.slice(0, PUBLISHED_AT_ONCE);
      waiting = waiting.slice(PUBLISHED_AT_ONCE);
      try {
        await events.publish(batch);
      } catch (error) {
        telemetry.error('events not published', error, { count: batch.length });
      }
    }
    draining = undefined;
  };

  return {
    publish(more: readonly LeaseholdEvent[]): void {
      if (more.length === 0) return;
      const room = Math.max(0, MAX_WAITING - waiting.length);
      dropped += Math.max(0, more.length - room);
      waiting.push(...more.slice(0, room));
      draining ??= drain();
    },
    /** Waits a few seconds at most; call it before the process may freeze. */
    async settle(): Promise<void> {
      if (draining !== undefined) await waitAtMost(PATIENCE_MS, draining, clock);
      const lost = dropped + waiting.length;
      if (lost > 0) telemetry.warn('events not published', { count: lost, reason: 'the bus is too slow' });
      dropped = 0;
      waiting = [];
    },
  };
}
