import type { BadRowError } from '../errors.ts';
import type { LeaseEntry } from '../job.ts';
import type { Table } from '../ports.ts';
import { parseLeaseEntry } from '../rows/parse-row.ts';
import { mergedShards, type Place, type ShardsRequest } from './merged-shards.ts';

export type FoundLease =
  | { readonly entry: LeaseEntry; readonly place: Place }
  | { readonly bad: BadRowError; readonly place?: undefined; readonly entry?: undefined };

/** Soonest lease end first. */
export async function* allLeases(
  table: Pick<Table, 'query'>,
  request: Omit<ShardsRequest, 'newestFirst'>,
): AsyncGenerator<FoundLease> {
  for await (const { row, place } of mergedShards(table, request)) {
    let entry: LeaseEntry;
    try {
      entry = parseLeaseEntry(row);
    } catch (error) {
      yield { bad: error as BadRowError };
      continue;
    }
    yield { entry, place };
  }
}
