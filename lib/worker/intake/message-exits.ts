import type { ReceivedMessage } from '../../protocol/ports.ts';
import { createGatherer } from '../gatherer.ts';
import type { WorkerParts } from '../worker-parts.ts';

/** SQS batch limit. */
const MOST_DELETIONS = 10;
/** Waits to fill a batch; a message deleted too late is recognized on redelivery. */
const DELETE_WINDOW_MS = 50;

/** Best effort: SQS redelivers what fails. */
export function createMessageExits({ queue, telemetry, clock }: WorkerParts) {
  const bestEffort = async (failure: string, count: number, act: Promise<void>): Promise<void> => {
    await act.catch((error: unknown) => telemetry.error(failure, error, { count }));
  };
  const settled: ReceivedMessage[] = [];
  const deletions = createGatherer({
    clock,
    full: MOST_DELETIONS,
    ready: () => settled.length,
    waitMs: (ageMs) => DELETE_WINDOW_MS - ageMs,
    send: (count) => bestEffort('messages not deleted', count, queue.delete(settled.splice(0, count))),
  });
  const returns = new Set<Promise<void>>();
  return {
    delete(messages: readonly ReceivedMessage[]): void {
      settled.push(...messages);
      deletions.look();
    },
    return(messages: readonly ReceivedMessage[], delaySeconds: number): void {
      if (messages.length === 0) return;
      const changed = queue.changeVisibility(messages, delaySeconds);
      const returning = bestEffort('messages not returned', messages.length, changed).finally(() =>
        returns.delete(returning),
      );
      returns.add(returning);
    },
    async settle(): Promise<void> {
      while (returns.size > 0) await Promise.allSettled(returns);
      await deletions.settle();
    },
  };
}
