import type { LeaseEntry } from '../job.ts';
import type { JobStore, ReapOutcome, Table } from '../ports.ts';
import { isNewer, newerFormat } from '../rows/parse-row.ts';
import { formatIsToday, hasNoFormat } from '../writes/clauses.ts';
import { type ReapAction, reapWrite } from '../writes/reaper-writes.ts';
import type { BatchResult, Clause, RowWrite } from '../writes/row-write.ts';
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
      const result = await table.apply(ofFormat(formatIsToday, write));
      return reapOutcome(write, await orOlder(table, write, result));
    },

    async reapMany(verdicts) {
      const writes = verdicts.map(({ entry, action }) => writeFor(entry, action));
      const results = await table.applyMany(writes.map((write) => ofFormat(formatIsToday, write)));
      return Promise.all(
        results.map(async (result, i) => {
          const write = writes[i] as RowWrite;
          try {
            return reapOutcome(write, await orOlder(table, write, result));
          } catch (error) {
            return { outcome: 'failed' as const, error: error as Error };
          }
        }),
      );
    },
  };
}

const ofFormat = (format: Clause, write: RowWrite): RowWrite => ({
  ...write,
  when: write.when.map((all) => [...all, format]),
});

/** The index does not tell a row's format. One of version 0.1 refuses a write that names today's, and is written once more. */
async function orOlder(table: Table, write: RowWrite, result: BatchResult): Promise<BatchResult> {
  if (result.applied !== false || result.row === undefined || result.row.format !== undefined) return result;
  return table.apply(ofFormat(hasNoFormat, write));
}

function reapOutcome(write: RowWrite, result: BatchResult): ReapOutcome {
  if (result.applied === 'failed') return { outcome: 'failed', error: result.error };
  if (result.row !== undefined && isNewer(result.row))
    return { outcome: 'failed', error: newerFormat(result.row) };
  return { outcome: wasApplied(write, result) ? 'written' : 'moved' };
}
