import type { Budgets, ClaimCounts } from '../job.ts';
import type { Table } from '../ports.ts';
import { allShards } from '../shards.ts';
import type { Row } from '../writes/row-write.ts';
import { mergedShards, type Place } from './merged-shards.ts';

/** What the index tells of a failed job. Why it failed is in its row alone: error texts would make the index dear. */
export interface FailureEntry extends ClaimCounts, Pick<Budgets, 'maxCrashes'> {
  readonly jobId: string;
  readonly type: string;
  readonly failedAt: number;
  readonly leaseOwner?: string;
}

/** Failed jobs, newest first. Costs by the entries that are read: choosing by type is left to the reader. */
export async function* allFailures(
  table: Pick<Table, 'query'>,
  request: {
    readonly shards: number;
    readonly pageSize: number;
    /** Only those that failed at this instant or later. */
    readonly since?: number;
    /** Only those that failed at this instant or earlier. */
    readonly before?: number;
    /** Where an earlier reader stopped. */
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

/** Reads leniently: a listing shows what is there, `doctor` judges it. */
function failureEntry(row: Row): FailureEntry {
  const number = (value: unknown) => (typeof value === 'number' ? value : 0);
  return {
    jobId: String(row.jobId),
    type: typeof row.type === 'string' ? row.type : '?',
    failedAt: number(row.leaseUntil),
    attempt: number(row.attempt),
    errors: number(row.errors),
    crashes: number(row.crashes),
    releases: number(row.releases),
    maxCrashes: typeof row.maxCrashes === 'number' ? row.maxCrashes : Number.POSITIVE_INFINITY,
    leaseOwner: typeof row.leaseOwner === 'string' ? row.leaseOwner : undefined,
  };
}
