import type { Dispatch } from '../../protocol/decisions/dispatch.ts';
import type { Hint } from '../../protocol/ports.ts';
import type { WorkerParts } from '../worker-parts.ts';

/** Best effort: the reaper resends the hint when the dispatch lease lapses. */
export async function sendHint(
  { queue, telemetry }: Pick<WorkerParts, 'queue' | 'telemetry'>,
  { jobId, type, key, forwarded }: Omit<Hint, 'delaySeconds'>,
  dispatch: Dispatch,
): Promise<void> {
  if (dispatch.hintDelaySeconds === undefined) return;
  try {
    const { sent, reason } = await queue.sendHints([
      { jobId, type, key, forwarded, delaySeconds: dispatch.hintDelaySeconds },
    ]);
    if (sent === 1) return telemetry.count('HintsSent');
    telemetry.warn('hint not sent; the reaper will', { jobId, reason });
  } catch (error) {
    telemetry.error('hint not sent; the reaper will', error, { jobId });
  }
  telemetry.count('StoreFailures');
}
