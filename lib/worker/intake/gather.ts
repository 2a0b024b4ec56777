import type { Clock } from '../../protocol/ports.ts';

/** Things that are sent together. */
export interface Gatherer<T> {
  add(items: readonly T[]): void;
  /** Sends what waits, and resolves when nothing is under way any more. */
  settle(): Promise<void>;
}

/** Sends what comes within a while together, and at once where a request is full. */
export function createGatherer<T>(options: {
  readonly clock: Clock;
  /** As many as one request takes. */
  readonly full: number;
  readonly windowMs: number;
  /** Handles its own failures. */
  readonly send: (items: readonly T[]) => Promise<void>;
}): Gatherer<T> {
  const { clock, full, windowMs } = options;
  const underWay = new Set<Promise<void>>();
  let waiting: T[] = [];
  let isPlanned = false;

  const sendSome = (count: number): void => {
    const batch = waiting.slice(0, count);
    waiting = waiting.slice(count);
    const sending: Promise<void> = options.send(batch).finally(() => underWay.delete(sending));
    underWay.add(sending);
  };
  const sendAll = () => {
    while (waiting.length > 0) sendSome(full);
  };
  const plan = async (): Promise<void> => {
    isPlanned = true;
    await clock.sleep(windowMs);
    isPlanned = false;
    sendAll();
  };

  return {
    add(items) {
      waiting.push(...items);
      while (waiting.length >= full) sendSome(full);
      if (waiting.length > 0 && !isPlanned) void plan();
    },
    async settle() {
      sendAll();
      await Promise.all(underWay);
    },
  };
}
