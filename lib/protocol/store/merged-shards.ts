import type { Cursor, IndexQuery, Table } from '../ports.ts';
import type { Row } from '../writes/row-write.ts';

/** How far each shard has been read: the last entry seen of it. A shard not named starts at its beginning. */
export type Positions = Readonly<Record<string, { readonly jobId: string; readonly leaseUntil: number }>>;

export interface ShardsRequest extends Pick<IndexQuery, 'after' | 'upTo' | 'newestFirst'> {
  readonly shards: readonly string[];
  readonly pageSize: number;
  readonly positions?: Positions;
}

interface Lane {
  readonly shard: string;
  rows: readonly Row[];
  next: number;
  cursor: Cursor | undefined;
  isOpen: boolean;
}

/**
 * The entries of several shards of the index as one list in the order of the index. Reads only as far as the list is
 * consumed, and goes on from `positions` where an earlier reader stopped.
 */
export async function* mergedShards(
  table: Pick<Table, 'query'>,
  { shards, pageSize, positions: from = {}, ...range }: ShardsRequest,
): AsyncGenerator<{ readonly row: Row; readonly positions: Positions }> {
  const positions: Record<string, Positions[string]> = { ...from };
  const direction = range.newestFirst === true ? -1 : 1;
  const lanes = shards.map((shard): Lane => {
    const place = positions[shard];
    return {
      shard,
      rows: [],
      next: 0,
      cursor: place && { ...place, leaseShard: shard },
      isOpen: true,
    };
  });
  for (;;) {
    const empty = lanes.filter((lane) => lane.isOpen && lane.next >= lane.rows.length);
    if (empty.length > 0) {
      await Promise.all(
        empty.map(async (lane) => {
          const page = await table.query({
            partition: lane.shard,
            limit: pageSize,
            cursor: lane.cursor,
            ...range,
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
    const row = lane?.rows[lane.next++];
    if (lane === undefined || row === undefined) return;
    positions[lane.shard] = { jobId: String(row.jobId), leaseUntil: Number(row.leaseUntil) };
    yield { row, positions: { ...positions } };
  }
}

/** Of a lane that has an entry left. */
const headOf = (lane: Lane): number => Number(lane.rows[lane.next]?.leaseUntil);
