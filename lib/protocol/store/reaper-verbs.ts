import type { LeaseEntry } from '../job.ts';
import type { JobStore, ReapOutcome } from '../ports.ts';
import { type ReapAction, reapWrite } from '../writes/reaper-writes.ts';
import type { BatchResult, RowWrite } from '../writes/row-write.ts';
import { type StoreParts, wasApplied } from './store-parts.ts';

/** What a reaper does with lapsed leases. */
export function reaperVerbs({ table, context, expiresAt }: StoreParts): Pick<JobStore, 'reap' | 'reapMany'> {
  const writeFor = (entry: LeaseEntry, action: ReapAction) => {
    const at = context();
    return reapWrite(entry, action, expiresAt(at.now), at);
  };
  return {
    async reap(entry, action) {
      const write = writeFor(entry, action);
      return reapOutcome(write, await table.apply(write));
    },

    async reapMany(verdicts) {
      const writes = verdicts.map(({ entry, action }) => writeFor(entry, action));
      const results = await table.applyMany(writes);
      return results.map((result, i) => reapOutcome(writes[i] as RowWrite, result));
    },
  };
}

function reapOutcome(write: RowWrite, result: BatchResult): ReapOutcome {
  if (result.applied === 'failed') return { outcome: 'failed', error: result.error };
  return { outcome: wasApplied(write, result) ? 'written' : 'moved' };
}
