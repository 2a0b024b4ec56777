import type { Claim } from '../../protocol/job.ts';
import type { Group } from '../../protocol/limits/group.ts';
import { hintsFor } from '../../protocol/limits/reserved-hints.ts';
import type { WorkerParts } from '../worker-parts.ts';

type Parts = Pick<WorkerParts, 'store' | 'queue' | 'telemetry'>;

/** Looks for a successor while the job's end is being stored. */
export function prepareLeave(parts: Parts, group: Group): (claim: Claim) => Promise<void> {
  const waiting = parts.store.waiting(group.name, group.limit).catch(() => undefined);
  return async ({ jobId, attempt }) =>
    passOn(parts, group.name, async () =>
      parts.store.leave({ group: group.name, limit: group.limit, jobId, attempt }, await waiting),
    );
}

/** A failure is harmless: the next job that finds the group full checks it. */
export async function passOn(
  { queue, telemetry }: Parts,
  group: string,
  act: () => Promise<{ readonly reserved: readonly string[] }>,
): Promise<void> {
  try {
    const { reserved } = await act();
    if (reserved.length === 0) return;
    const { sent } = await queue.sendHints(hintsFor(group, reserved));
    telemetry.count('HintsSent', sent);
  } catch (error) {
    telemetry.error('a place was not passed on; the next check of its limit does it', error, { group });
  }
}
