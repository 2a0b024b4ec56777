import type { Claim } from '../../protocol/job.ts';
import type { Group } from '../../protocol/limits/group.ts';
import { passOn } from '../../protocol/limits/pass-on.ts';
import type { WorkerParts } from '../worker-parts.ts';

/** Looks for a successor while the job's end is being stored. */
export function prepareLeave(
  parts: Pick<WorkerParts, 'store' | 'queue' | 'telemetry'>,
  group: Group,
): (claim: Claim) => Promise<void> {
  const waiting = parts.store.waiting(group.name, group.limit).catch(() => undefined);
  return async ({ jobId, attempt }) =>
    passOn(parts, group.name, async () =>
      parts.store.leave({ group: group.name, limit: group.limit, jobId, attempt }, await waiting),
    );
}
