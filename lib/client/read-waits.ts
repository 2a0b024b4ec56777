import type { Job } from '../protocol/job.ts';
import { type Control, limitOf, parseControl } from '../protocol/limits/control.ts';
import { parseGroup } from '../protocol/limits/group.ts';
import type { Table } from '../protocol/ports.ts';
import { type Parked, parkedOf, type Wait } from '../tools/inspect/parked.ts';
import { CONTROL_KEY, isPauseGroup, partsOfGroup, pauseGroups } from '../wire/limits.ts';
import { ownQueueUrl, poolOf, type Routing } from '../wire/pools.ts';

/** Limits a count to about 30 read units. */
const MOST_AHEAD = 1000;
/** Limits the cost of counting a paused type's jobs, per partition. */
const MOST_PAUSED = 10_000;

export interface WaitParts {
  readonly table: Pick<Table, 'read' | 'readMany' | 'count'>;
  readonly found: { readonly queueUrl?: string };
  readonly routing?: Routing;
}

/** Reads about three units if the job is parked, else none. */
export async function readWait({ table, found, routing }: WaitParts, job: Job): Promise<Wait> {
  if (job.status !== 'pending') return {};
  const { waitsFor, waitsSince = 0, type, key } = job;
  const name = routing && poolOf(routing.pools, type);
  const pool =
    routing === undefined || name === undefined || found.queueUrl === undefined
      ? undefined
      : { name, queueUrl: ownQueueUrl(found.queueUrl, { ...routing, pool: name }) };
  if (waitsFor === undefined) return { pool };
  if (isPauseGroup(waitsFor))
    return { pool, pausedAt: parseControl(await table.read(CONTROL_KEY)).paused.get(type) };
  const range = { index: 'byWait', partition: waitsFor, upTo: waitsSince - 1 } as const;
  const [[controlRow, groupRow], ahead] = await Promise.all([
    table.readMany([CONTROL_KEY, waitsFor]),
    table.count({ ...range, atMost: MOST_AHEAD }),
  ]);
  const { members, limit } = parseGroup(groupRow);
  const place = {
    group: waitsFor,
    taken: Object.keys(members).length,
    limit: limitOf(parseControl(controlRow), type, partsOfGroup(waitsFor).key ?? key) ?? limit,
    ahead: { count: ahead.count, complete: ahead.cursor === undefined },
  };
  return { pool, place };
}

/** Leases of paused jobs end last, so a first page has none and they need a count. */
export async function readParked(
  table: Pick<Table, 'count'>,
  control: Control,
  read: { readonly waits: readonly string[]; readonly complete: boolean },
): Promise<Parked> {
  const parked = parkedOf(read.waits, read.complete, control);
  if (read.complete) return parked;
  const paused = await Promise.all(
    parked.paused.map(async (each) => {
      const parts = await Promise.all(
        pauseGroups(each.type).map((partition) =>
          table.count({ index: 'byWait', partition, atMost: MOST_PAUSED }),
        ),
      );
      const count = parts.reduce((sum, part) => sum + part.count, 0);
      return { ...each, waiting: { count, complete: parts.every(({ cursor }) => cursor === undefined) } };
    }),
  );
  return { ...parked, paused };
}
