import { hintsFor } from '../protocol/limits/reserved-hints.ts';
import type { ReaperDeps } from './deps.ts';
import type { Verdict } from './reap-writer.ts';

/** A reclaimed job keeps its place for its next claim. */
export async function leaveGroups(
  { store, queue, telemetry }: ReaperDeps,
  written: readonly Verdict[],
): Promise<void> {
  for (const { entry, action } of written) {
    const { group, jobId, attempt } = entry;
    if (group === undefined || 'dispatch' in action) continue;
    try {
      const { reserved } = await store.leave({ group, jobId, attempt });
      if (reserved.length > 0) await queue.sendHints(hintsFor(group, reserved));
    } catch (error) {
      telemetry.error('a place was not passed on; the next check of its limit does it', error, {
        jobId,
        group,
      });
    }
  }
}
