import type { BadRowError } from '../errors.ts';
import type { LeaseEntry } from '../job.ts';
import type { Cursor, Table } from '../ports.ts';
import { parseLeaseEntry } from '../rows/parse-row.ts';

/** One page of a shard of the lease index, soonest lease end first. Rows that cannot be read are set apart. */
export interface LeasePage {
  readonly entries: readonly LeaseEntry[];
  readonly bad: readonly BadRowError[];
  readonly cursor?: Cursor;
}

/** Reads a page of the leases of one shard, eventually consistent: whoever acts on an entry must name what it saw. */
export async function readLeases(
  table: Table,
  request: {
    readonly shard: string;
    readonly limit: number;
    readonly upTo?: number;
    readonly cursor?: Cursor;
  },
): Promise<LeasePage> {
  const { shard, ...rest } = request;
  const page = await table.query({ partition: shard, ...rest });
  const entries: LeaseEntry[] = [];
  const bad: BadRowError[] = [];
  for (const row of page.rows) {
    try {
      entries.push(parseLeaseEntry(row));
    } catch (error) {
      bad.push(error as BadRowError);
    }
  }
  return { entries, bad, cursor: page.cursor };
}
