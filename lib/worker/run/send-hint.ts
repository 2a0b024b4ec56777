import type { Dispatch } from '../../protocol/decisions/dispatch.ts';
import type { Hint } from '../../protocol/ports.ts';
import type { WorkerParts } from '../worker-parts.ts';

type Parts = Pick<WorkerParts, 'queue' | 'telemetry'>;
type Hinted = Omit<Hint, 'delaySeconds'>;

export const sendHint = (parts: Parts, job: Hinted, dispatch: Dispatch): Promise<void> =>
  sendHints(parts, [{ job, dispatch }]);

/** Best effort: the reaper resends a hint when the dispatch lease lapses. */
export async function sendHints(
  { queue, telemetry }: Parts,
  some: readonly { readonly job: Hinted; readonly dispatch: Dispatch }[],
): Promise<void> {
  const hints = some.flatMap(({ job: { jobId, type, key, forwarded }, dispatch }): Hint[] => {
    const delaySeconds = dispatch.hintDelaySeconds;
    return delaySeconds === undefined ? [] : [{ jobId, type, key, forwarded, delaySeconds }];
  });
  if (hints.length === 0) return;
  const [{ jobId } = { jobId: '' }] = hints;
  try {
    const { sent, reason } = await queue.sendHints(hints);
    if (sent > 0) telemetry.count('HintsSent', sent);
    if (sent === hints.length) return;
    telemetry.warn('hint not sent; the reaper will', { jobId, count: hints.length - sent, reason });
  } catch (error) {
    telemetry.error('hint not sent; the reaper will', error, { jobId, count: hints.length });
  }
  telemetry.count('StoreFailures');
}
