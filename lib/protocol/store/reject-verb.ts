import { isJobId } from '../../wire/message.ts';
import type { JobStore } from '../ports.ts';
import { shortenedError } from '../rows/json-text.ts';
import { badMessageKey, rejectWrite } from '../writes/operator-writes.ts';
import type { StoreParts } from './store-parts.ts';

/** Stores the message under the id it names, where its producer looks, or else under its own. */
export const rejectVerb =
  ({ table, context }: StoreParts): JobStore['reject'] =>
  async (message) => {
    const names = [message.jobId, message.messageId].filter(isJobId);
    for (const name of names) {
      const write = rejectWrite({ ...message, reason: shortenedError(message.reason) }, name, context());
      const { applied, row } = await table.apply(write);
      if (applied || row?.messageId === message.messageId)
        return { outcome: 'written', row: badMessageKey(name) };
    }
    // Both places are taken; the log still names this message.
    return { outcome: 'written', row: badMessageKey(message.messageId) };
  };
