import type { BadRowError } from '../errors.ts';
import type { LeaseEntry } from '../job.ts';
import type { Cursor, Table } from '../ports.ts';
import { readLeases } from './lease-index.ts';

/** An entry of the lease index, or a row that has a lease but cannot be read. */
export type FoundLease =
  | { readonly entry: LeaseEntry; readonly positions: Positions }
  | { readonly bad: BadRowError; readonly positions?: undefined; readonly entry?: undefined };

/** How far each shard has been read: the last entry seen of it. A shard not named starts at its beginning. */
export type Positions = Readonly<Record<string, { readonly jobId: string; readonly leaseUntil: number }>>;

interface Lane {
  readonly shard: string;
  entries: readonly LeaseEntry[];
  next: number;
  cursor: Cursor | undefined;
  isOpen: boolean;
}

/**
 * All leases of several shards as one list, soonest lease end first. Reads only as far as the list is consumed, and goes on
 * from `positions` where an earlier reader stopped.
 */
export async function* allLeases(
  table: Table,
  request: {
    readonly shards: readonly string[];
    readonly pageSize: number;
    readonly upTo?: number;
    readonly positions?: Positions;
  },
): AsyncGenerator<FoundLease> {
  const positions: Record<string, { jobId: string; leaseUntil: number }> = { ...request.positions };
  const lanes: Lane[] = request.shards.map((shard) => {
    const from = positions[shard];
    const cursor = from === undefined ? undefined : { ...from, leaseShard: shard };
    return { shard, entries: [], next: 0, cursor, isOpen: true };
  });
  for (;;) {
    const empty = lanes.filter((lane) => lane.isOpen && lane.next >= lane.entries.length);
    if (empty.length > 0) {
      const pages = await Promise.all(empty.map((lane) => refill(table, lane, request)));
      for (const bad of pages.flat()) yield { bad };
      continue;
    }
    const lane = lanes
      .filter(({ next, entries }) => next < entries.length)
      .reduce<Lane | undefined>((a, b) => (a === undefined || headOf(b) < headOf(a) ? b : a), undefined);
    const entry = lane?.entries[lane.next++];
    if (lane === undefined || entry === undefined) return;
    positions[lane.shard] = { jobId: entry.jobId, leaseUntil: entry.leaseUntil };
    yield { entry, positions: { ...positions } };
  }
}

/** Of a lane that has an entry left. */
const headOf = (lane: Lane): number => (lane.entries[lane.next] as LeaseEntry).leaseUntil;

async function refill(
  table: Table,
  lane: Lane,
  request: { readonly pageSize: number; readonly upTo?: number },
): Promise<readonly BadRowError[]> {
  const page = await readLeases(table, {
    shard: lane.shard,
    limit: request.pageSize,
    upTo: request.upTo,
    cursor: lane.cursor,
  });
  lane.entries = page.entries;
  lane.next = 0;
  lane.cursor = page.cursor;
  lane.isOpen = page.cursor !== undefined;
  return page.bad;
}
