import type { Clock, JobQueue, ReceivedMessage } from '../protocol/ports.ts';
import { hintBody } from '../wire/message.ts';

/** An in-memory queue with delays and visibility timeouts; receiving never waits. */
export interface MemoryQueue extends JobQueue {
  /** When the next message becomes visible, if any. */
  nextAt(): number | undefined;
  /** Including messages in flight. */
  bodies(): readonly string[];
}

interface KeptMessage {
  readonly messageId: string;
  readonly body: string;
  readonly sentAt: number;
  visibleAt: number;
  receiveCount: number;
}

/** Creates an in-memory queue that runs on the given clock. */
export function createMemoryQueue(options: {
  readonly clock: Pick<Clock, 'now'>;
  readonly visibilityTimeoutMs: number;
}): MemoryQueue {
  const { clock, visibilityTimeoutMs } = options;
  const messages = new Map<string, KeptMessage>();
  let count = 0;

  const keep = (body: string, delaySeconds = 0): string => {
    const messageId = `message-${++count}`;
    const sentAt = clock.now();
    messages.set(messageId, {
      messageId,
      body,
      sentAt,
      visibleAt: sentAt + delaySeconds * 1000,
      receiveCount: 0,
    });
    return messageId;
  };
  const receive = (message: KeptMessage): ReceivedMessage => {
    message.visibleAt = clock.now() + visibilityTimeoutMs;
    message.receiveCount += 1;
    const { messageId, body, sentAt, receiveCount } = message;
    return { messageId, body, sentAt, receiveCount, receiptHandle: messageId };
  };

  return {
    nextAt: () =>
      messages.size === 0 ? undefined : Math.min(...[...messages.values()].map(({ visibleAt }) => visibleAt)),
    bodies: () => [...messages.values()].map(({ body }) => body),
    async sendHints(hints) {
      for (const hint of hints) keep(hintBody(hint), hint.delaySeconds);
      return { sent: hints.length, failed: [] };
    },
    sendJobs: async (bodies) =>
      bodies.map(({ body, delaySeconds }) => ({ outcome: 'sent', messageId: keep(body, delaySeconds) })),
    receive: async ({ max }) =>
      [...messages.values()]
        .filter(({ visibleAt }) => visibleAt <= clock.now())
        .slice(0, max)
        .map(receive),
    async delete(gone) {
      for (const { messageId } of gone) messages.delete(messageId);
    },
    async changeVisibility(changed, seconds) {
      for (const { messageId } of changed) {
        const message = messages.get(messageId);
        if (message !== undefined) message.visibleAt = clock.now() + seconds * 1000;
      }
    },
  };
}
