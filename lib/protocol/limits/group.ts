import type { Row } from '../writes/row-write.ts';

/** A limit as it stands for one type, or for one key of it. */
export interface Group {
  /** Key of its row. */
  readonly name: string;
  readonly limit: number;
}

/** Entries by job id: the attempt that was admitted, or minus the time at which a place was reserved. */
export type Members = Readonly<Record<string, number>>;

export interface GroupState {
  readonly members: Members;
  /** As the last admission knew it. */
  readonly limit?: number;
}

/** Undefined also for an id such as 'constructor', which every object seems to have. */
export const entryIn = (members: Members, jobId: string): number | undefined =>
  Object.hasOwn(members, jobId) ? members[jobId] : undefined;

/** A reservation that was not used by then is void. */
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

/** Entries whose jobs no longer need their place, with the numbers by which to remove them. */
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

/** Runs, whoever the owner is, or was released or reclaimed and its hint is on the way. */
function needsPlace(row: Row | undefined, now: number, skewMs: number): boolean {
  if (row?.status === 'running') return true;
  return (
    row?.status === 'pending' &&
    row.waitsFor === undefined &&
    Number(row.notBefore) <= now + skewMs &&
    Number(row.leaseUntil) > now
  );
}
