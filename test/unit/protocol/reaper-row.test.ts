import { describe, expect, it } from 'vitest';
import { readReaperRow } from '../../../lib/protocol/store/reaper-row.ts';
import type { RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';

const JOB_ID = 'leader:reaper';

function stage(row?: Readonly<Record<string, unknown>>, shards = 8) {
  const memory = createMemoryTable();
  if (row !== undefined) memory.put({ jobId: JOB_ID, ...row });
  const writes: RowWrite[] = [];
  const table = {
    read: memory.read,
    apply: (write: RowWrite) => {
      writes.push(write);
      return memory.apply(write);
    },
  };
  const parts = { table, clock: createFakeClock(300), settings: { shards } };
  return { memory, read: () => readReaperRow(parts), writes };
}

const nothing = {
  ...{ wake: undefined, wakeAt: undefined, holder: undefined, ledAt: undefined },
  ...{ term: 0, gaugedAt: 0, wholeAt: 0, shards: 8 },
};

describe('the reapers’ own row', () => {
  it.each([
    { wake: 7, wakeAt: '10', holder: 7, term: '2', wholeAt: '20', gaugedAt: '30', shards: 100_000 },
    { wakeAt: Number.NaN, term: Number.POSITIVE_INFINITY, gaugedAt: Number.NaN, shards: Number.NaN },
    {
      wake: null,
      wakeAt: null,
      holder: null,
      ledAt: '5',
      term: null,
      wholeAt: null,
      gaugedAt: null,
      shards: null,
    },
  ])('may have been edited by hand: %o', async (row) => {
    const { read, writes } = stage(row);
    expect(await read()).toStrictEqual(nothing);
    expect(writes).toEqual([]);
  });

  it.each([
    [1, 8, ['raiseShards'], 8],
    [7, 8, ['raiseShards'], 8],
    [8, 8, [], 8],
    [9, 9, [], 9],
  ])('with %i shards keeps the highest number, which is %i', async (kept, known, written, stored) => {
    const { memory, read, writes } = stage({ shards: kept });
    expect((await read()).shards).toBe(known);
    expect(writes.map(({ transition }) => transition)).toEqual(written);
    expect(await memory.read(JOB_ID)).toMatchObject({ shards: stored });
  });
});
