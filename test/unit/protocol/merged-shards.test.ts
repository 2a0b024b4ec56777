import { describe, expect, it } from 'vitest';
import type { IndexQuery, Table } from '../../../lib/protocol/ports.ts';
import { mergedShards, type Place, type ShardsRequest } from '../../../lib/protocol/store/merged-shards.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { row } from '../../support/rows.ts';

/** Two shards; three entries of them share one instant. */
function stage() {
  const memory = createMemoryTable();
  const queries: IndexQuery[] = [];
  const table: Pick<Table, 'query'> = {
    query(request) {
      queries.push(request);
      return memory.query(request);
    },
  };
  for (const [jobId, leaseShard, leaseUntil] of [
    ['a', 'r0', 10],
    ['b', 'r1', 20],
    ['c', 'r0', 30],
    ['d', 'r0', 30],
    ['e', 'r1', 30],
    ['f', 'r1', 40],
  ] as const)
    memory.put(row({ jobId, leaseShard, leaseUntil }));
  const listed = async (over: Partial<ShardsRequest> = {}) => {
    const found: { readonly jobId: string; readonly place: Place }[] = [];
    for await (const each of mergedShards(table, { shards: ['r0', 'r1'], pageSize: 2, ...over }))
      found.push({ jobId: String(each.row.jobId), place: each.place });
    return found;
  };
  const ids = async (over?: Partial<ShardsRequest>) =>
    (await listed(over)).map(({ jobId }) => jobId).join('');
  return { table, queries, listed, ids };
}

describe('several shards as one list', () => {
  it.each([1, 2, 3, 10])('come in the order of the index, in pages of %i', async (pageSize) => {
    const { ids } = stage();
    expect(await ids({ pageSize })).toBe('abcdef');
    expect(await ids({ pageSize, newestFirst: true })).toBe('fdceba');
    expect(await ids({ pageSize, after: 10, upTo: 30 })).toBe('bcde');
    expect(await ids({ pageSize, after: 10, upTo: 30, newestFirst: true })).toBe('dceb');
  });

  it('give with each entry how far each shard was read at that instant', async () => {
    const { listed } = stage();
    expect((await listed()).map(({ place }) => place)).toEqual([
      { at: 10, upTo: { r0: 'a' } },
      { at: 20, upTo: { r1: 'b' } },
      { at: 30, upTo: { r0: 'c' } },
      { at: 30, upTo: { r0: 'd' } },
      { at: 30, upTo: { r0: 'd', r1: 'e' } },
      { at: 40, upTo: { r1: 'f' } },
    ]);
  });

  it.each([false, true])(
    'go on from any entry without a gap or a double (newest first: %s)',
    async (newestFirst) => {
      const { listed, ids } = stage();
      const all = await listed({ newestFirst });
      const whole = all.map(({ jobId }) => jobId).join('');
      for (const [i, { place }] of all.entries())
        expect(await ids({ newestFirst, from: place })).toBe(whole.slice(i + 1));
    },
  );
});
