import type { Table } from '../ports.ts';
import { allShards } from '../shards.ts';
import type { Row } from '../writes/row-write.ts';
import { mergedShards, type Place } from './merged-shards.ts';

/** Omits the error text, which would make the index expensive. */
export interface FailureEntry {
  readonly jobId: string;
  readonly type: string;
  readonly attempt: number;
  readonly failedAt: number;
  readonly row: Row;
}

/** Newest first. Cost grows with the entries read, so the caller filters by type. */
export async function* allFailures(
  table: Pick<Table, 'query'>,
  request: {
    readonly shards: number;
    readonly pageSize: number;
    /** Inclusive. */
    readonly since?: number;
    /** Inclusive. */
    readonly before?: number;
    readonly from?: Place;
  },
): AsyncGenerator<{ readonly failure: FailureEntry; readonly place: Place }> {
  const { shards, since, before, ...rest } = request;
  for await (const { row, place } of mergedShards(table, {
    ...rest,
    shards: allShards(shards).failed,
    after: since === undefined ? undefined : since - 1,
    upTo: before,
    newestFirst: true,
  }))
    yield { failure: failureEntry(row), place };
}

/** Lenient, because a listing shows every row and `doctor` reports the bad ones. */
export const failureEntry = (row: Row): FailureEntry => ({
  jobId: String(row.jobId),
  type: typeof row.type === 'string' ? row.type : '?',
  attempt: typeof row.attempt === 'number' ? row.attempt : 0,
  failedAt: typeof row.leaseUntil === 'number' ? row.leaseUntil : 0,
  row,
});
