import { describe, expect, it } from 'vitest';
import { createReaperPlace } from '../../../lib/protocol/store/reaper-row.ts';
import type { RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import { createHandClock } from '../../../lib/testing/hand-clock.ts';
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
  const place = createReaperPlace({ table, clock: createHandClock(300), settings: { shards } });
  return { memory, place, writes };
}

const nothing = {
  ...{ wake: undefined, wakeAt: undefined, leaderUntil: undefined, breakerOpen: false, gaugedAt: 0 },
  shards: 8,
};

describe('the reapers’ own row', () => {
  it('is read as it stands', async () => {
    const row = { wake: 'a', wakeAt: 10, leaderUntil: 20, breakerOpen: true, gaugedAt: 30, shards: 8 };
    const { place, writes } = stage(row);
    expect(await place.read()).toStrictEqual(row);
    expect(writes).toEqual([]);
  });

  it('may not be there', async () => {
    const { place, writes } = stage();
    expect(await place.read()).toStrictEqual(nothing);
    expect(writes).toEqual([]);
  });

  it.each([
    { wake: 7, wakeAt: '10', leaderUntil: '20', breakerOpen: 'true', gaugedAt: '30', shards: 'many' },
    { wakeAt: Number.NaN, leaderUntil: Number.POSITIVE_INFINITY, gaugedAt: Number.NaN, shards: Number.NaN },
    { wake: null, wakeAt: null, leaderUntil: null, breakerOpen: null, gaugedAt: null, shards: null },
  ])('may have been edited by hand: %o', async (row) => {
    const { place, writes } = stage(row);
    expect(await place.read()).toStrictEqual(nothing);
    expect(writes).toEqual([]);
  });

  it.each([
    [1, 8, ['raiseShards'], 8],
    [7, 8, ['raiseShards'], 8],
    [8, 8, [], 8],
    [9, 9, [], 9],
  ])('with %i shards keeps the highest number, which is %i', async (kept, known, written, stored) => {
    const { memory, place, writes } = stage({ shards: kept });
    expect((await place.read()).shards).toBe(known);
    expect(writes.map(({ transition }) => transition)).toEqual(written);
    expect(await memory.read(JOB_ID)).toMatchObject({ shards: stored });
  });

  it('promises the next sweep to whoever knows the last one, and remembers who was there', async () => {
    const { memory, place } = stage();
    const next = { wake: 'a', wakeAt: 10, gaugedAt: 5 };
    expect(await place.arm(next, undefined)).toBe(true);
    expect(await memory.read(JOB_ID)).toEqual({ jobId: JOB_ID, ...next, ledAt: 300, shards: 8 });
    // The repeat of a write whose reply was lost, and a rival.
    expect(await place.arm(next, undefined)).toBe(true);
    expect(await place.arm({ ...next, wake: 'b' }, undefined)).toBe(false);
  });

  it('promises nothing where it vanished', async () => {
    const { place } = stage();
    expect(await place.arm({ wake: 'b', wakeAt: 10, gaugedAt: 5 }, 'a')).toBe(false);
  });

  it('puts a promise off, and keeps the breaker', async () => {
    const { memory, place } = stage({ wake: 'a', wakeAt: 10 });
    await place.renew('a', 20);
    await place.keepBreaker(true);
    expect(await memory.read(JOB_ID)).toMatchObject({ wakeAt: 20, breakerOpen: true });
  });
});
