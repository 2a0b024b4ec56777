import type { RejectedMessage } from '../../protocol/writes/operator-writes.ts';
import type { WorkerParts } from '../worker-parts.ts';

/** Keeps a message that cannot be run as a failed row, for its producer to find. */
export async function rejectMessage(
  { store, telemetry }: Pick<WorkerParts, 'store' | 'telemetry'>,
  rejected: RejectedMessage,
): Promise<void> {
  const { row } = await store.reject(rejected);
  telemetry.count('MessagesRejected');
  // The reason may repeat what the producer sent, so it is in the row and not here.
  telemetry.warn('message rejected; its row says why', {
    row,
    bytes: rejected.bytes,
  });
}
