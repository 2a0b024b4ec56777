import type { ReceivedMessage } from '../../protocol/ports.ts';
import type { RunBounds } from '../run/supervise.ts';
import type { WorkerParts } from '../worker-parts.ts';
import type { Engine } from './engine.ts';
import type { Slots } from './slots.ts';

export interface MessageTaker {
  /** Opens, claims and starts what was received together; resolves when its jobs are started. */
  take(messages: readonly ReceivedMessage[]): Promise<void>;
  /** Returns messages to the queue. */
  returnMessages(messages: readonly ReceivedMessage[], seconds: number): Promise<void>;
}

/** What a process does with the messages that it received. Several batches may be under way at the same time. */
export function createMessageTaker(options: {
  readonly parts: WorkerParts;
  readonly engine: Engine;
  readonly slots: Slots;
  readonly bounds: RunBounds;
}): MessageTaker {
  const { engine, slots, bounds } = options;
  const { queue, telemetry } = options.parts;

  const bestEffort = async (
    failure: string,
    messages: readonly ReceivedMessage[],
    act: () => Promise<void>,
  ): Promise<void> => {
    if (messages.length === 0) return;
    await act().catch((error: unknown) => telemetry.error(failure, error, { count: messages.length }));
  };
  const returnMessages = (messages: readonly ReceivedMessage[], seconds: number) =>
    bestEffort('messages not returned', messages, () => queue.changeVisibility(messages, seconds));

  return {
    returnMessages,
    async take(messages) {
      const opened = await Promise.all(messages.map((message) => engine.open(message)));
      const claimables = opened.filter((each) => each.kind === 'claimable');
      const claimed = await engine.claim(claimables);
      const verdicts = new Map(claimables.map((each, i) => [each, claimed[i]] as const));
      const ended: ReceivedMessage[] = [];
      for (const [i, message] of messages.entries()) {
        const first = opened[i];
        const verdict = first?.kind === 'claimable' ? verdicts.get(first) : first;
        if (verdict?.kind === 'returned') {
          telemetry.count('MessagesReturned');
          void returnMessages([message], verdict.delaySeconds);
        } else ended.push(message);
        if (verdict?.kind === 'claimed') slots.run(() => engine.run(verdict, bounds));
      }
      void bestEffort('messages not deleted', ended, () => queue.delete(ended));
    },
  };
}
