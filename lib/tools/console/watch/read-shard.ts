import type { LeaseEntry } from '../../../protocol/job.ts';
import type { Cursor, Table } from '../../../protocol/ports.ts';
import { readLeases } from '../../../protocol/store/lease-index.ts';

export interface Stretch {
  readonly shard: string;
  readonly entries: readonly LeaseEntry[];
  /** All lease ends in between were read, so a job expected here but absent has moved. */
  readonly from: number;
  readonly to: number;
  readonly rest?: ShardPlace;
}

interface ShardPlace {
  readonly cursor: Cursor;
  readonly from: number;
}

const PAGE = 250;

export async function readShard(
  table: Table,
  shard: string,
  atMost: number,
  start?: ShardPlace,
): Promise<Stretch> {
  const entries: LeaseEntry[] = [];
  let cursor = start?.cursor;
  do {
    const page = await readLeases(table, { shard, limit: Math.min(PAGE, atMost), cursor });
    entries.push(...page.entries);
    cursor = page.cursor;
  } while (cursor !== undefined && entries.length < atMost);
  const from = start?.from ?? Number.NEGATIVE_INFINITY;
  const last = entries.at(-1)?.leaseUntil ?? from;
  if (cursor === undefined) return { shard, entries, from, to: Number.POSITIVE_INFINITY };
  // Entries with the same lease end may be on the next page.
  return { shard, entries, from, to: last - 1, rest: { cursor, from: last } };
}
