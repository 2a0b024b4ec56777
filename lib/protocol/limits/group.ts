import type { Row } from '../writes/row-write.ts';

export interface Group {
  readonly name: string;
  readonly limit: number;
}

/** By job id: the admitted attempt, or the negated time of a reservation. */
export type Members = Readonly<Record<string, number>>;

export interface GroupState {
  readonly members: Members;
  /** As of the last admission. */
  readonly limit?: number;
}

/** Own properties only: an id may be 'constructor'. */
export const entryIn = (members: Members, jobId: string): number | undefined =>
  Object.hasOwn(members, jobId) ? members[jobId] : undefined;

/** Unused reservations expire. */
const RESERVED_MS = 60_000;

export function parseGroup(row: Row | undefined): GroupState {
  const members = (row?.members ?? {}) as Row;
  return {
    members: Object.fromEntries(
      Object.entries(members).filter((entry): entry is [string, number] => typeof entry[1] === 'number'),
    ),
    limit: typeof row?.limit === 'number' ? row.limit : undefined,
  };
}

export const roomIn = ({ members }: GroupState, limit: number): number => limit - Object.keys(members).length;

/** Entries whose jobs no longer need their place. */
export function staleEntries(
  members: Members,
  rows: ReadonlyMap<string, Row>,
  now: number,
  skewMs: number,
): Members {
  return Object.fromEntries(
    Object.entries(members).filter(([jobId, number]) => {
      if (number < 0 && now < -number + RESERVED_MS) return false;
      return !needsPlace(rows.get(jobId), now, skewMs);
    }),
  );
}

/** Running, or released or reclaimed with a hint on the way. */
function needsPlace(row: Row | undefined, now: number, skewMs: number): boolean {
  if (row?.status === 'running') return true;
  return (
    row?.status === 'pending' &&
    row.waitsFor === undefined &&
    Number(row.notBefore) <= now + skewMs &&
    Number(row.leaseUntil) > now
  );
}
