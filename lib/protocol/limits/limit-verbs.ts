import { declarations } from '../../settings/settings.ts';
import { claimAttribute } from '../../wire/table.ts';
import type { Claim } from '../job.ts';
import { isObject } from '../rows/data-pointer.ts';
import type { StoreParts } from '../store/store-parts.ts';
import type { Row } from '../writes/row-write.ts';
import { entryIn, type Group, type GroupState, parseGroup, roomIn, staleEntries } from './group.ts';
import {
  type Admission,
  admitWrite,
  evictWrite,
  leaveWrite,
  openGroupWrite,
  reserveWrite,
} from './group-writes.ts';
import { type Parking, parkClaimWrite, parkWrite } from './park-writes.ts';

/** A row must outlive every run that has a place on it; each admission renews it. */
const KEPT_MS = 2 * declarations.maxRunMs.max;
/** The group may change between a read and a write. After this many, the waiting jobs' hints do the rest. */
const FILL_ATTEMPTS = 3;

interface Place extends Admission {
  readonly group: string;
  readonly limit?: number;
}

export type LimitStore = ReturnType<typeof limitVerbs>;

export function limitVerbs(parts: StoreParts) {
  const { table, clock, context, fenced, settings } = parts;

  const waiting = async (group: string, most: number): Promise<readonly string[]> => {
    const { rows } = await table.query({ index: 'byWait', partition: group, limit: most });
    return rows.map(({ jobId }) => String(jobId));
  };

  const fill = async (
    group: Group,
    seen: GroupState,
    candidates: readonly string[],
  ): Promise<{ readonly state: GroupState; readonly reserved: readonly string[] }> => {
    let state = seen;
    for (let attempt = 1; attempt <= FILL_ATTEMPTS; attempt++) {
      const next = candidates
        .filter((jobId) => entryIn(state.members, jobId) === undefined)
        .slice(0, Math.max(0, roomIn(state, group.limit)));
      if (next.length === 0) return { state, reserved: [] };
      const now = clock.now();
      const { applied, row } = await table.apply(reserveWrite(group, next, now));
      const members = { ...state.members, ...Object.fromEntries(next.map((jobId) => [jobId, -now])) };
      if (applied) return { state: { ...state, members }, reserved: next };
      state = parseGroup(row);
      if (next.every((jobId) => state.members[jobId] === -now)) return { state, reserved: next };
      if (row === undefined) break;
    }
    return { state, reserved: [] };
  };

  const admit = async (
    group: Group,
    admission: Admission,
  ): Promise<{ readonly outcome: 'admitted' | 'refused' }> => {
    const expiresAt = Math.ceil((clock.now() + KEPT_MS) / 1000);
    const admitted = await table.apply(admitWrite(group, admission, expiresAt));
    if (admitted.applied || isAdmitted(admitted.row, admission)) return { outcome: 'admitted' };
    if (admitted.row !== undefined) return { outcome: 'refused' };
    const opened = await table.apply(openGroupWrite(group, admission, expiresAt));
    if (opened.applied || isAdmitted(opened.row, admission)) return { outcome: 'admitted' };
    // Another job opened the group meanwhile.
    return admit(group, admission);
  };

  return {
    async look(groups: readonly string[], jobIds: readonly string[]) {
      const keys = [...groups, ...jobIds];
      const rows = await table.readMany(keys);
      return {
        groups: new Map(groups.map((name, i) => [name, parseGroup(rows[i])])),
        rows: new Map(
          jobIds.flatMap((jobId, i) => {
            const row = rows[groups.length + i];
            return row === undefined ? [] : [[jobId, row] as const];
          }),
        ),
      };
    },

    /** Refused if the job changed since it was read. */
    park: (seen: Parameters<typeof parkWrite>[0], parking: Parking) =>
      fenced(parkWrite(seen, parking, context())),

    parkClaim: (claim: Claim, parking: Parking) =>
      fenced(parkClaimWrite(claim, parking, context()), (row) => {
        const past = row[claimAttribute(claim.attempt)];
        return isObject(past) && past.owner === claim.owner && past.outcome === 'parked';
      }),

    /** Refused if every place is taken, or a later attempt of the job has one. */
    admit,
    /** Oldest first, from the index. */
    waiting,

    /** Frees a place and reserves it for a waiting job. Each reserved job needs a hint. */
    async leave(
      { group: name, limit: known, ...place }: Place,
      seen?: readonly string[],
    ): Promise<{ readonly reserved: readonly string[] }> {
      const limit = known ?? parseGroup(await table.read(name)).limit;
      if (limit === undefined) return { reserved: [] };
      const group = { name, limit };
      const candidates = (seen ?? (await waiting(name, limit))).filter((jobId) => jobId !== place.jobId);
      const next = candidates[Math.floor(parts.random.next() * Math.min(limit, candidates.length))];
      const now = clock.now();
      const write = leaveWrite(group, place, next === undefined ? undefined : { jobId: next, now });
      const { applied, row } = await table.apply(write);
      const state = parseGroup(row);
      const isHandedOver = next !== undefined && (applied || hasLeft(state, place, next, now));
      if (isHandedOver || applied) {
        const more = await fill(group, state, candidates);
        return { reserved: [...(isHandedOver ? [next] : []), ...more.reserved] };
      }
      // The successor has a place already, or the limit was lowered.
      const alone = next === undefined ? row : (await table.apply(leaveWrite(group, place))).row;
      return { reserved: (await fill(group, parseGroup(alone), candidates)).reserved };
    },

    /** Removes stale entries, then reserves all room for waiting jobs. */
    async check(group: Group, { members }: GroupState) {
      const jobIds = Object.keys(members);
      const rows = await table.readMany(jobIds);
      const found = new Map(jobIds.flatMap((jobId, i) => (rows[i] ? [[jobId, rows[i]] as const] : [])));
      const stale = staleEntries(members, found, clock.now(), settings.skewMs);
      if (Object.keys(stale).length === 0) return { state: { members }, reserved: [] };
      const { row } = await table.apply(evictWrite(group.name, stale));
      return fill(group, parseGroup(row), await waiting(group.name, group.limit));
    },
  };
}

const isAdmitted = (row: Row | undefined, { jobId, attempt }: Admission): boolean =>
  parseGroup(row).members[jobId] === attempt;

const hasLeft = ({ members }: GroupState, { jobId }: Admission, next: string, now: number): boolean =>
  entryIn(members, jobId) === undefined && members[next] === -now;
