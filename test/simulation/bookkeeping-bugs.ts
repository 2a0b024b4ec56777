import { of, removing, setting, without } from './alter-writes.ts';
import { QUIET } from './fault-kinds.ts';
import type { PlantedBug } from './planted-bug.ts';

/** Mistakes after which a row, or somebody's idea of it, is wrong. */
export const bookkeepingBugs: readonly PlantedBug[] = [
  {
    name: 'an own success after a lost reply is not recognised',
    breaks: /which was applied and stands/,
    alterResult: (_write, result) =>
      result.applied || result.row === undefined
        ? result
        : { applied: false, row: { ...result.row, changedBy: 'somebody', leaseOwner: 'somebody' } },
  },
  {
    name: 'an end is recognised only by the call that wrote it',
    breaks: /which an earlier offer had ended/,
    alterResult: (write, result) =>
      result.applied || result.row === undefined || result.row.changedBy === write.set.changedBy
        ? result
        : {
            applied: false,
            row: Object.fromEntries(Object.entries(result.row).filter(([key]) => !/^claim\d/.test(key))),
          },
    rates: { ...QUIET, replyLost: 10, handlerThrows: 4 },
  },
  {
    name: 'any refusal counts as a success',
    breaks: /which was never applied/,
    alterResult: (write, result) =>
      result.applied || result.row === undefined || write.set.changedBy === undefined
        ? result
        : { applied: false, row: { ...result.row, changedBy: write.set.changedBy } },
  },
  {
    name: 'an older checkpoint may overwrite a newer one',
    breaks: /an older checkpoint won|written twice/,
    alterWrite: of(['checkpoint'], without('checkpointSeq')),
    rates: { requestLate: 3, replyLost: 3 },
  },
  {
    name: 'reclaim drops the checkpoint',
    breaks: /the checkpoint was lost/,
    alterWrite: of(['reclaim'], removing('checkpoint')),
  },
  {
    name: 'reclaim forgets that an operator wants the job cancelled',
    breaks: /the wish to cancel was forgotten|cancel/,
    alterWrite: of(['takeBack', 'release', 'retry'], setting({ cancelRequested: false })),
    rates: { operatorCancels: 10, operatorTakesBack: 3 },
  },
  {
    name: 'a lapse is charged to nothing, so that a poison job runs for ever',
    rates: { ...QUIET, diesAtAwait: 9, dies: 4 },
    size: 'full',
    breaks: /goes on with|at the end/,
    alterWrite: of(['quarantine'], ({ set: { finishedAt, expiresAt: _, ...set }, ...write }) => ({
      ...write,
      set: { ...set, status: 'pending', leaseShard: 'q0', leaseUntil: finishedAt ?? 0, notBefore: 0 },
      remove: [],
    })),
  },
  {
    name: 'the reaper counts a lapse on top of lapses that a lagging index shows',
    breaks: /lapses came back that were forgiven/,
    alterWrite: of(['reclaim', 'quarantine'], without('lapses')),
    alterQuery: showingLapsesAtClaim(),
    rates: { ...QUIET, indexLags: 6, diesAtAwait: 9, dies: 4 },
    size: 'full',
  },
  {
    name: 'an operator’s late repeat acts on a job that came back to the same status',
    breaks: /cancelled though nobody asks for it|a cancelled job/,
    alterWrite: of(['cancel', 'revive'], without('leaseUntil', 'finishedAt', 'acted')),
    rates: { ...QUIET, operatorCancels: 10, operatorRevives: 7, requestLate: 5, hintVanishes: 12 },
  },
];

/** An index that lags: a claim's lapses stay what they were at the first look at it. */
function showingLapsesAtClaim(): NonNullable<PlantedBug['alterQuery']> {
  const shown = new Map<string, unknown>();
  return (_request, page) => ({
    ...page,
    rows: page.rows.map((row) => {
      const claim = String(row.leaseOwner);
      if (!shown.has(claim)) shown.set(claim, row.lapses);
      return { ...row, lapses: shown.get(claim) as number };
    }),
  });
}
