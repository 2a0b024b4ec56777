import { isJobId } from '../../wire/message.ts';
import type { JobStore } from '../ports.ts';
import { badMessageKey, rejectWrite } from '../writes/operator-writes.ts';
import type { StoreParts } from './store-parts.ts';

/**
 * Keeps a message that cannot be run under the id that it named, so that its producer finds it there; under its own where
 * another rejected message has that place, or it named none.
 */
export const rejectVerb =
  ({ table, context, expiresAt, shortened }: StoreParts): JobStore['reject'] =>
  async (message) => {
    const names = [message.jobId, message.messageId].filter(isJobId);
    for (const name of names) {
      const at = context();
      const write = rejectWrite(
        { ...message, reason: shortened(message.reason) },
        name,
        expiresAt(at.now),
        at,
      );
      const { applied, row } = await table.apply(write);
      // Whoever wrote it: the same message is kept once.
      if (applied || row?.messageId === message.messageId)
        return { outcome: 'written', row: badMessageKey(name) };
    }
    // A row of version 0.1 does not say whose it is, but it has the message's own id.
    return { outcome: 'written', row: badMessageKey(message.messageId) };
  };
