import type { Hint, JobStore } from '../../lib/protocol/ports.ts';
import type { Clause, RowWrite } from '../../lib/protocol/writes/row-write.ts';
import { of } from './alter-writes.ts';
import { QUIET } from './fault-kinds.ts';
import type { PlantedBug } from './planted-bug.ts';

const FALLS = /the entry of \S+ (fell|was removed)/;

/** Admits or removes whichever number the entry has. */
const withoutComparison = (write: RowWrite): RowWrite => ({
  ...write,
  when: write.when.map((all) => all.map(entryIsThere)),
});

const entryIsThere = (clause: Clause): Clause =>
  clause.attribute.startsWith('members#') && (clause.is === 'atMost' || clause.is === 'equal')
    ? { attribute: clause.attribute, is: 'present' }
    : clause;

/** Gives away the place of a job that runs under a later claim than the one that was admitted. */
const checkedByOwner = (store: JobStore): JobStore => ({
  ...store,
  async check(group, state) {
    const { rows } = await store.look([], Object.keys(state.members));
    for (const [jobId, attempt] of Object.entries(state.members)) {
      const row = rows.get(jobId);
      if (attempt > 0 && row?.status === 'running' && row.attempt !== attempt)
        await store.leave({ group: group.name, limit: group.limit, jobId, attempt });
    }
    const { groups } = await store.look([group.name], []);
    return store.check(group, groups.get(group.name) ?? state);
  },
});

/** Whether a job has a place, or could get one. */
async function hasRoom(store: JobStore, { jobId }: Hint): Promise<boolean> {
  const { rows } = await store.look([], [jobId]);
  const group = String(rows.get(jobId)?.waitsFor ?? '');
  const state = (await store.look([group], [])).groups.get(group);
  const members = state?.members ?? {};
  return members[jobId] !== undefined || Object.keys(members).length < (state?.limit ?? 1);
}

const LATE = { ...QUIET, requestLate: 12, hintVanishes: 4, messageDelayed: 4 };

/** Limits: mistakes after which too many jobs run at once, or a place is never passed on. */
export const limitBugs: readonly PlantedBug[] = [
  {
    name: 'a check frees the places of jobs that run under another owner than the admitted one',
    searchFrom: 27,
    breaks: /run at once, and \d may/,
    size: 'limited',
    alterWorker: ({ store, queue }) => ({ store: checkedByOwner(store), queue }),
    rates: { ...QUIET, cellDies: 9, handlerKillsProcess: 6 },
  },
  {
    name: 'an admission replaces the entry of a later attempt',
    searchFrom: 17,
    breaks: FALLS,
    size: 'limited',
    alterWrite: of(['admit'], withoutComparison),
    rates: { ...LATE, operatorTakesBack: 7 },
  },
  {
    name: 'leaving a limit removes the entry of a later attempt',
    breaks: FALLS,
    size: 'limited',
    alterWrite: of(['leave'], withoutComparison),
    rates: { ...LATE, handlerThrows: 3 },
  },
  {
    name: 'a check removes entries that have changed since it read them',
    searchFrom: 2049,
    breaks: FALLS,
    size: 'limited',
    alterWrite: of(['evict'], withoutComparison),
    rates: LATE,
  },
  {
    name: 'the reaper sends a waiting job a hint only if its limit has room',
    searchFrom: 345,
    breaks: /has been empty for|is still pending at the end/,
    size: 'limited',
    alterReaper: ({ store, queue }) => ({
      store,
      queue: {
        ...queue,
        async sendHints(hints) {
          const wanted = await Promise.all(hints.map((hint) => hasRoom(store, hint).catch(() => true)));
          await queue.sendHints(hints.filter((_, i) => wanted[i]));
          return { sent: hints.length, failed: [] };
        },
      },
    }),
    rates: { ...QUIET, hintVanishes: 9, diesAtAwait: 9 },
  },
];
