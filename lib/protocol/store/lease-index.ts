import type { BadRowError } from '../errors.ts';
import type { LeaseEntry } from '../job.ts';
import type { Cursor, IndexQuery, Table } from '../ports.ts';
import { parseLeaseEntry } from '../rows/parse-row.ts';

export interface LeasePage {
  readonly entries: readonly LeaseEntry[];
  readonly bad: readonly BadRowError[];
  readonly cursor?: Cursor;
}

/** Eventually consistent, so a write based on an entry must name the entry's values. */
export async function readLeases(
  table: Table,
  { shard, ...rest }: Pick<IndexQuery, 'limit' | 'upTo' | 'cursor'> & { readonly shard: string },
): Promise<LeasePage> {
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
