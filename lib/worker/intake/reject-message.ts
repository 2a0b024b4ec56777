import type { RunningJob } from '../../protocol/job.ts';
import type { RejectedMessage } from '../../protocol/writes/operator-writes.ts';
import type { WorkerParts } from '../worker-parts.ts';

export function dropLateTick(
  { telemetry }: Pick<WorkerParts, 'telemetry'>,
  { jobId, byMs }: { readonly jobId: string; readonly byMs: number },
): void {
  telemetry.count('TicksLate');
  telemetry.warn('the tick of a schedule came too late, and does not run', { jobId, byMs });
}

/** A tick may have waited for a limit or a paused type. */
export const isLateTick = ({ lateAt, claims }: RunningJob, now: number): boolean =>
  lateAt !== undefined && now > lateAt && claims.every(({ outcome }) => outcome === 'parked');

/** Keeps a message that cannot run as a failed row. */
export async function rejectMessage(
  { store, telemetry }: Pick<WorkerParts, 'store' | 'telemetry'>,
  rejected: RejectedMessage,
): Promise<void> {
  const { row } = await store.reject(rejected);
  telemetry.count('MessagesRejected');
  // The reason may quote the payload, so only the row has it.
  telemetry.warn('message rejected; its row says why', { row, bytes: rejected.bytes });
}
