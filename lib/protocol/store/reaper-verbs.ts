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

/** One way to carry a verdict out. */
interface Try {
  readonly write: RowWrite;
  /** What is written instead where the row turns out to be otherwise than the index could tell. */
  after(row: Row): Try | undefined;
  /** What is told where this was written. */
  readonly written: ReapOutcome;
}

/** What a reaper does with lapsed leases. */
export function reaperVerbs({ table, context, expiresAt }: StoreParts): Pick<JobStore, 'reap' | 'reapMany'> {
  const writeFor = ({ entry, action }: Reaping, excuses?: number) => {
    const at = context();
    return reapWrite(entry, action, expiresAt(at.now), at, excuses);
  };

  /** The index tells neither a row's format nor how often its job was excused: the most likely is tried first. */
  const firstTry = (reaping: Reaping): Try =>
    ofAnyFormat({
      write: writeFor(reaping),
      written: { outcome: 'written' },
      after: (row) => afterExcuses(reaping, row),
    });

  /** A job that was excused before refuses its first excuse, and shows the number. */
  const afterExcuses = (reaping: Reaping, row: Row): Try | undefined => {
    const otherwise = reaping.action.kind === 'reclaim' ? reaping.action.otherwise : undefined;
    const excuses = otherwise && excusesOn(row, reaping.entry);
    if (otherwise === undefined || excuses === undefined) return undefined;
    const charged = { entry: reaping.entry, action: otherwise };
    return ofAnyFormat(
      excuses < MOST_EXCUSES
        ? { write: writeFor(reaping, excuses), written: { outcome: 'written' }, after: () => undefined }
        : {
            write: writeFor(charged),
            written: { outcome: 'written', action: otherwise },
            after: () => undefined,
          },
    );
  };

  return {
    async reap(entry, action) {
      let next = firstTry({ entry, action });
      for (;;) {
        const judged = judge(next, await table.apply(next.write));
        if ('outcome' in judged) return judged;
        next = judged;
      }
    },

    async reapMany(verdicts) {
      const outcomes: ReapOutcome[] = [];
      let open = verdicts.map((verdict, place) => ({ place, next: firstTry(verdict) }));
      // Those that take another try are written together as well: after an upgrade that is all of them.
      while (open.length > 0) {
        const results = await table.applyMany(open.map(({ next }) => next.write));
        const again: typeof open = [];
        for (const [i, { place, next }] of open.entries()) {
          const judged = judge(next, results[i] as BatchResult);
          if ('outcome' in judged) outcomes[place] = judged;
          else again.push({ place, next: judged });
        }
        open = again;
      }
      return outcomes;
    },
  };
}

function judge(tried: Try, result: BatchResult): ReapOutcome | Try {
  if (result.applied === 'failed') return { outcome: 'failed', error: result.error };
  if (wasApplied(tried.write, result)) return tried.written;
  if (result.row === undefined) return { outcome: 'moved' };
  if (isNewer(result.row)) return { outcome: 'newer', error: newerFormat(result.row) };
  return tried.after(result.row) ?? { outcome: 'moved' };
}

/** A row of version 0.1 says no format. It refuses a write that names today's, and is written once more. */
const ofAnyFormat = (tried: Try): Try => ({
  ...tried,
  write: ofFormat(formatIsToday, tried.write),
  after: (row) =>
    row.format === undefined ? { ...tried, write: ofFormat(hasNoFormat, tried.write) } : tried.after(row),
});

const ofFormat = (format: Clause, write: RowWrite): RowWrite => ({
  ...write,
  when: write.when.map((all) => [...all, format]),
});

/** How often the job was excused, where its lease is still the one that was seen. */
const excusesOn = (row: Row, entry: LeaseEntry): number | undefined =>
  row.status === entry.status && row.attempt === entry.attempt && row.leaseUntil === entry.leaseUntil
    ? (row.excuses as number | undefined)
    : undefined;
