import type { BadRowError } from '../errors.ts';
import type { LeaseEntry } from '../job.ts';
import type { Table } from '../ports.ts';
import { parseLeaseEntry } from '../rows/parse-row.ts';
import { mergedShards, type Positions, type ShardsRequest } from './merged-shards.ts';

/** An entry of the lease index, or a row that has a lease but cannot be read. */
export type FoundLease =
  | { readonly entry: LeaseEntry; readonly positions: Positions }
  | { readonly bad: BadRowError; readonly positions?: undefined; readonly entry?: undefined };

/** All leases of several shards as one list, soonest lease end first. */
export async function* allLeases(
  table: Pick<Table, 'query'>,
  request: Omit<ShardsRequest, 'newestFirst'>,
): AsyncGenerator<FoundLease> {
  for await (const { row, positions } of mergedShards(table, request)) {
    let entry: LeaseEntry;
    try {
      entry = parseLeaseEntry(row);
    } catch (error) {
      yield { bad: error as BadRowError };
      continue;
    }
    yield { entry, positions };
  }
}
