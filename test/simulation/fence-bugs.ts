import type { Clause, RowWrite } from '../../lib/protocol/writes/row-write.ts';
import { FENCED, of, REAPED, setting, without } from './alter-writes.ts';
import { QUIET } from './fault-kinds.ts';
import type { PlantedBug } from './planted-bug.ts';

const STALE = /a stale write is visible/;
const LATE_CLAIMS = { ...QUIET, requestLate: 10, hintVanishes: 12, operatorTakesBack: 7 };

/** Who may write: mistakes after which a worker writes over another's claim. */
export const fenceBugs: readonly PlantedBug[] = [
  {
    name: 'a worker’s writes do not check whose lease it is',
    searchFrom: 345,
    breaks: STALE,
    alterWrite: of(FENCED, without('leaseOwner', 'attempt')),
  },
  {
    name: 'claims of one worker share a name, and the attempt is not checked',
    breaks: STALE,
    alterWrite: (write) => of(FENCED, without('attempt'))(of(['claim'], withoutOwnClaims)(sharedName(write))),
    rates: { operatorTakesBack: 3, handlerIgnoresSignal: 3 },
  },
  {
    name: 'the owner is not checked, and a deleted job’s id is used again',
    searchFrom: 1992,
    breaks: STALE,
    alterWrite: of(FENCED, without('leaseOwner')),
    rates: { rowDeleted: 10, handlerIgnoresSignal: 3, operatorTakesBack: 3, requestLate: 3 },
  },
  {
    name: 'a worker’s writes do not check that the job is running',
    breaks: /a stale write is visible|a (done|failed) job was changed/,
    alterWrite: of(FENCED, without('status')),
  },
  {
    name: 'a claim does not raise the attempt',
    breaks: /attempt went from/,
    alterWrite: of(['claim'], (write) => ({
      ...write,
      sum: { ...write.sum, attempt: { of: 'attempt', otherwise: 1, plus: 0 } },
    })),
  },
  {
    name: 'revive starts the attempt anew',
    searchFrom: 1449,
    breaks: /attempt went from/,
    alterWrite: of(['revive'], setting({ attempt: 0 })),
  },
  {
    name: 'a claim’s own repeat may claim again, and a job taken back is due at once',
    breaks: /granted a lease twice/,
    alterWrite: (write) =>
      of(['takeBack'], setting({ notBefore: 0 }))(of(['claim'], withoutOwnClaims)(write)),
    rates: LATE_CLAIMS,
  },
  {
    name: 'a claim with unknown outcome releases whatever lease it finds',
    searchFrom: 653,
    breaks: STALE,
    alterWrite: of(['releaseUnknown'], without('leaseOwner')),
    rates: { requestLost: 3, partitioned: 3, messageDuplicated: 3 },
  },
];

/** A fence that another one stands behind: dropped alone, nothing breaks. Kept so that one mistake is not enough. */
export const redundantFences: readonly PlantedBug[] = [
  {
    name: 'a claim’s own repeat is not told by its name (a job taken back is not due for it)',
    breaks: /^$/,
    alterWrite: of(['claim'], withoutOwnClaims),
    rates: LATE_CLAIMS,
  },
  {
    name: 'the attempt is not checked (each claim has a name of its own)',
    breaks: /^$/,
    alterWrite: of(FENCED, without('attempt')),
  },
  {
    name: 'the reaper does not check the attempt (the lease’s end differs)',
    breaks: /^$/,
    alterWrite: of(REAPED, without('attempt')),
  },
  {
    name: 'lapses are counted relatively (the observed lease is gone after the first time)',
    breaks: /^$/,
    alterWrite: of(['reclaim'], (write) => {
      const { lapses: _, ...set } = write.set;
      return { ...write, set, sum: { ...write.sum, lapses: { of: 'lapses', otherwise: 0, plus: 1 } } };
    }),
  },
];

function withoutOwnClaims(write: RowWrite): RowWrite {
  return without('leaseOwner')(write);
}

/** `w1/17` and `w1/18` both become `w1`. */
function sharedName(write: RowWrite): RowWrite {
  const shorten = (owner: unknown) => String(owner).split('/')[0] ?? '';
  const clause = (each: Clause): Clause =>
    each.attribute === 'leaseOwner' && 'value' in each && each.is !== 'sizeBelow'
      ? { ...each, value: shorten(each.value) }
      : each;
  return {
    ...write,
    when: write.when.map((all) => all.map(clause)),
    set:
      write.set.leaseOwner === undefined
        ? write.set
        : { ...write.set, leaseOwner: shorten(write.set.leaseOwner) },
  };
}
