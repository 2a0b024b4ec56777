import { NewerFormatError } from '../errors.ts';
import type { JobStore, ReapOutcome } from '../ports.ts';
import { formatProblem } from '../rows/parse-row.ts';
import { reapWrite } from '../writes/reaper-writes.ts';
import type { BatchResult, RowWrite } from '../writes/row-write.ts';
import { asFailure, type StoreParts, wasApplied } from './store-parts.ts';

export function reaperVerbs({ table, context }: StoreParts): Pick<JobStore, 'reap' | 'reapMany'> {
  return {
    async reap(entry, action) {
      const write = reapWrite(entry, action, context());
      return outcomeOf(write, await table.apply(write));
    },

    async reapMany(verdicts) {
      const writes = verdicts.map(({ entry, action }) => reapWrite(entry, action, context()));
      const results = await table.applyMany(writes);
      return writes.map((write, i) => outcomeOf(write, results[i] as BatchResult));
    },
  };
}

function outcomeOf(write: RowWrite, result: BatchResult): ReapOutcome {
  if (result.applied === 'failed') return asFailure(result.error);
  if (wasApplied(write, result)) return { outcome: 'written' };
  const error = result.row && formatProblem(result.row);
  if (error === undefined) return { outcome: 'moved' };
  return error instanceof NewerFormatError ? { outcome: 'newer', error } : asFailure(error);
}
