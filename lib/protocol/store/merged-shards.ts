import type { Cursor, IndexQuery, Table } from '../ports.ts';
import type { Row } from '../writes/row-write.ts';

/** A resume point: everything before `at` was read; at `at`, each shard up to the job named here. */
export interface Place {
  readonly at: number;
  readonly upTo: Readonly<Record<string, string>>;
}

export interface ShardsRequest extends Pick<IndexQuery, 'after' | 'upTo' | 'newestFirst'> {
  readonly shards: readonly string[];
  readonly pageSize: number;
  /** @default - the beginning */
  readonly from?: Place;
}

interface Lane {
  readonly shard: string;
  rows: readonly Row[];
  next: number;
  cursor: Cursor | undefined;
  isOpen: boolean;
}

/** Reads only as far as the list is consumed. */
export async function* mergedShards(
  table: Pick<Table, 'query'>,
  { shards, pageSize, from, ...range }: ShardsRequest,
): AsyncGenerator<{ readonly row: Row; readonly place: Place }> {
  const rest = from === undefined ? range : beginningAt(from.at, range);
  const direction = range.newestFirst === true ? -1 : 1;
  const lanes = shards.map((shard): Lane => {
    const jobId = from?.upTo[shard];
    const cursor = jobId === undefined ? undefined : { jobId, leaseUntil: from?.at, leaseShard: shard };
    return { shard, rows: [], next: 0, cursor, isOpen: true };
  });
  let place = from;
  for (;;) {
    const empty = lanes.filter((lane) => lane.isOpen && lane.next >= lane.rows.length);
    if (empty.length > 0) {
      await Promise.all(
        empty.map(async (lane) => {
          const page = await table.query({
            partition: lane.shard,
            limit: pageSize,
            cursor: lane.cursor,
            ...rest,
          });
          lane.rows = page.rows;
          lane.next = 0;
          lane.cursor = page.cursor;
          lane.isOpen = page.cursor !== undefined;
        }),
      );
      continue;
    }
    const lane = lanes
      .filter(({ next, rows }) => next < rows.length)
      .reduce<Lane | undefined>(
        (a, b) => (a === undefined || direction * (headOf(b) - headOf(a)) < 0 ? b : a),
        undefined,
      );
    if (lane === undefined) return;
    const row = lane.rows[lane.next++] as Row;
    const at = Number(row.leaseUntil);
    const before = place?.at === at ? place.upTo : {};
    place = { at, upTo: { ...before, [lane.shard]: String(row.jobId) } };
    yield { row, place };
  }
}

const beginningAt = (at: number, range: Pick<IndexQuery, 'after' | 'upTo' | 'newestFirst'>) =>
  range.newestFirst === true
    ? { ...range, upTo: Math.min(at, range.upTo ?? at) }
    : { ...range, after: Math.max(at - 1, range.after ?? 0) };

const headOf = (lane: Lane): number => Number((lane.rows[lane.next] as Row).leaseUntil);
