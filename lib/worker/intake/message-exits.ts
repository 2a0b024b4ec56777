import type { ReceivedMessage } from '../../protocol/ports.ts';
import type { WorkerParts } from '../worker-parts.ts';
import { createGatherer } from './gather.ts';

/** How messages leave a process: deleted, or returned to the queue for others. */
export interface MessageExits {
  /** The messages have done their duty. They wait a moment for others. */
  delete(messages: readonly ReceivedMessage[]): void;
  return(messages: readonly ReceivedMessage[], delaySeconds: number): void;
  /** Resolves when no message is being deleted or returned any more. */
  settle(): Promise<void>;
}

/** SQS takes this many deletions in one request. */
const MOST_DELETIONS = 10;
/** How long a deletion waits for others. A message that is not deleted in time is recognised when it comes again. */
const DELETE_WINDOW_MS = 50;

/** Best effort: what does not work is said, and the queue shows the message again. */
export function createMessageExits({
  queue,
  telemetry,
  clock,
}: Pick<WorkerParts, 'queue' | 'telemetry' | 'clock'>): MessageExits {
  const bestEffort = async (failure: string, count: number, act: Promise<void>): Promise<void> => {
    await act.catch((error: unknown) => telemetry.error(failure, error, { count }));
  };
  const deletions = createGatherer<ReceivedMessage>({
    ...{ clock, full: MOST_DELETIONS, windowMs: DELETE_WINDOW_MS },
    send: (messages) => bestEffort('messages not deleted', messages.length, queue.delete(messages)),
  });
  const returns = new Set<Promise<void>>();
  return {
    delete: deletions.add,
    return(messages, delaySeconds) {
      if (messages.length === 0) return;
      const changed = queue.changeVisibility(messages, delaySeconds);
      const returning = bestEffort('messages not returned', messages.length, changed).finally(() =>
        returns.delete(returning),
      );
      returns.add(returning);
    },
    async settle() {
      while (returns.size > 0) await Promise.allSettled(returns);
      await deletions.settle();
    },
  };
}
