import { MOST_EXCUSES } from '../decisions/decide-reap.ts';
import type { LeaseEntry } from '../job.ts';
import type { JobStore, ReapOutcome } from '../ports.ts';
import { isNewer, newerFormat } from '../rows/parse-row.ts';
import { formatIsToday, hasNoFormat } from '../writes/clauses.ts';
import { type ReapAction, reapWrite } from '../writes/reaper-writes.ts';
import type { BatchResult, Clause, Row, RowWrite } from '../writes/row-write.ts';
import { type StoreParts, wasApplied } from './store-parts.ts';

interface Reaping {
  readonly entry: LeaseEntry;
  readonly action: ReapAction;
}

/** What a reaper does with lapsed leases. */
export function reaperVerbs({ table, context, expiresAt }: StoreParts): Pick<JobStore, 'reap' | 'reapMany'> {
  const writeFor = ({ entry, action }: Reaping, excuses?: number) => {
    const at = context();
    return reapWrite(entry, action, expiresAt(at.now), at, excuses);
  };

  /** The index does not tell a row's format. One of version 0.1 refuses a write that names today's, and is written once more. */
  const orOlder = async (write: RowWrite, result: BatchResult): Promise<BatchResult> => {
    if (result.applied !== false || result.row === undefined || result.row.format !== undefined)
      return result;
    return table.apply(ofFormat(hasNoFormat, write));
  };

  const applied = async (reaping: Reaping, excuses?: number): Promise<ReapOutcome> => {
    const write = writeFor(reaping, excuses);
    const result = await table.apply(ofFormat(formatIsToday, write));
    return reapOutcome(write, await orOlder(write, result));
  };

  /** Nor does it tell how often a job was excused: one that was refuses its first excuse, and shows the number. */
  const judged = async (reaping: Reaping, write: RowWrite, first: BatchResult): Promise<ReapOutcome> => {
    const result = await orOlder(write, first);
    const otherwise = reaping.action.kind === 'reclaim' ? reaping.action.otherwise : undefined;
    const excuses = otherwise && result.applied === false && excusesOn(result.row, reaping.entry);
    if (typeof excuses !== 'number' || wasApplied(write, result as never)) return reapOutcome(write, result);
    if (excuses < MOST_EXCUSES) return applied(reaping, excuses);
    const { entry, action } = { entry: reaping.entry, action: otherwise as ReapAction };
    const outcome = await applied({ entry, action });
    return outcome.outcome === 'written' ? { outcome: 'written', action } : outcome;
  };

  return {
    async reap(entry, action) {
      const write = writeFor({ entry, action });
      return judged({ entry, action }, write, await table.apply(ofFormat(formatIsToday, write)));
    },

    async reapMany(verdicts) {
      const writes = verdicts.map((verdict) => writeFor(verdict));
      const results = await table.applyMany(writes.map((write) => ofFormat(formatIsToday, write)));
      return Promise.all(
        results.map(async (result, i) => {
          try {
            return await judged(verdicts[i] as Reaping, writes[i] as RowWrite, result);
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

/** How often the job was excused, where its lease is still the one that was seen. */
const excusesOn = (row: Row | undefined, entry: LeaseEntry): number | undefined =>
  row?.status === entry.status && row.attempt === entry.attempt && row.leaseUntil === entry.leaseUntil
    ? (row.excuses as number | undefined)
    : undefined;

function reapOutcome(write: RowWrite, result: BatchResult): ReapOutcome {
  if (result.applied === 'failed') return { outcome: 'failed', error: result.error };
  if (result.row !== undefined && isNewer(result.row))
    return { outcome: 'failed', error: newerFormat(result.row) };
  return { outcome: wasApplied(write, result) ? 'written' : 'moved' };
}
