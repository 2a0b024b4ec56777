import { describe, expect, it } from 'vitest';
import type { Table } from '../../../lib/protocol/ports.ts';
import { createLeadership } from '../../../lib/protocol/store/leader-lease.ts';
import { createHandClock } from '../../../lib/testing/hand-clock.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';

const LEASE_MS = 15_000;

function stage() {
  const table = createMemoryTable();
  const clock = createHandClock(1_000);
  const reaper = (name: string, shards = 8, by: Table = table) =>
    createLeadership({ table: by, clock, name, leaseMs: LEASE_MS, shards });
  return { table, clock, reaper };
}

describe('leadership', () => {
  it('goes to the first, and the second follows', async () => {
    const { reaper } = stage();
    expect(await reaper('a').take()).toEqual({ outcome: 'leading', epoch: 1, shards: 8 });
    expect(await reaper('b').take()).toEqual({
      outcome: 'following',
      leader: 'a',
      leaderUntil: 16_000,
      shards: 8,
    });
  });

  it('passes on at the tick at which its lease ends, under a new epoch', async () => {
    const { clock, reaper } = stage();
    await reaper('a').take();
    await clock.advance(LEASE_MS - 1);
    expect(await reaper('b').take()).toMatchObject({ outcome: 'following' });
    await clock.advance(1);
    expect(await reaper('b').take()).toMatchObject({ outcome: 'leading', epoch: 2 });
  });

  it('is kept by extending it, and lost to whoever took over meanwhile', async () => {
    const { clock, reaper } = stage();
    const [a, b] = [reaper('a'), reaper('b')];
    await a.take();
    await clock.advance(10_000);
    expect(await a.extend(1)).toEqual({ outcome: 'extended', shards: 8 });
    await clock.advance(10_000);
    expect(await b.take()).toMatchObject({ outcome: 'following', leaderUntil: 26_000 });
    await clock.advance(10_000);
    expect(await b.take()).toMatchObject({ outcome: 'leading', epoch: 2 });
    expect(await a.extend(1)).toEqual({ outcome: 'lost' });
    await a.release(1);
    expect(await b.extend(2)).toMatchObject({ outcome: 'extended' });
  });

  it('passes on at once when it is given up', async () => {
    const { reaper } = stage();
    const a = reaper('a');
    await a.take();
    await a.release(1);
    expect(await reaper('b').take()).toMatchObject({ outcome: 'leading', epoch: 2 });
  });

  it('is taken again by its own leader after a lost reply', async () => {
    const { reaper } = stage();
    await reaper('a').take();
    expect(await reaper('a').take()).toMatchObject({ outcome: 'leading', epoch: 2 });
  });

  it('may be extended twice, as after a lost reply', async () => {
    const { reaper } = stage();
    const a = reaper('a');
    await a.take();
    expect([await a.extend(1), await a.extend(1)]).toMatchObject([
      { outcome: 'extended' },
      { outcome: 'extended' },
    ]);
  });

  it('ends no later than its reaper does', async () => {
    const { clock, table } = stage();
    const ending = createLeadership({ table, clock, name: 'a', leaseMs: LEASE_MS, shards: 8, endsAt: 5_000 });
    await ending.take();
    expect(table.rows()[0]).toMatchObject({ leaderUntil: 5_000, ledAt: 1_000 });
    await clock.advance(6_000);
    await ending.extend(1);
    expect(table.rows()[0]).toMatchObject({ leaderUntil: 7_000, ledAt: 7_000 });
  });

  it('remembers the highest number of shards ever used, for leaders and followers alike', async () => {
    const { reaper } = stage();
    expect(await reaper('a', 4).take()).toMatchObject({ outcome: 'leading', shards: 4 });
    expect(await reaper('b', 16).take()).toMatchObject({ outcome: 'following', shards: 16 });
    expect(await reaper('c', 2).take()).toMatchObject({ outcome: 'following', shards: 16 });
    expect(await reaper('a', 4).extend(1)).toEqual({ outcome: 'extended', shards: 16 });
  });

  it('learns of shards that another reaper raised further at the same moment', async () => {
    const { table, reaper } = stage();
    await reaper('a', 4).take();
    const racing: Table = {
      ...table,
      apply: async (write) => {
        if (write.transition === 'raiseShards') await reaper('z', 32).take();
        return table.apply(write);
      },
    };
    expect(await reaper('b', 16, racing).take()).toMatchObject({ outcome: 'following', shards: 32 });
  });

  it('holds its own against a row that was edited by hand', async () => {
    const { table, reaper } = stage();
    table.put({ jobId: 'leader:reaper', shards: 'many', leaderUntil: 'soon' });
    expect(await reaper('a').take()).toEqual({
      outcome: 'following',
      leader: 'unknown',
      leaderUntil: Number.NaN,
      shards: 8,
    });
    table.put({ jobId: 'leader:reaper', shards: 'many' });
    expect(await reaper('a').take()).toEqual({ outcome: 'leading', epoch: 1, shards: 8 });
  });

  it('is somebody’s, though nobody knows whose, where its row vanished just then', async () => {
    const { table, reaper } = stage();
    const vanishing: Table = { ...table, apply: async () => ({ applied: false, row: undefined }) };
    expect(await reaper('a', 8, vanishing).take()).toEqual({
      ...{ outcome: 'following', leader: 'unknown', leaderUntil: Number.NaN, shards: 8 },
    });
  });

  it('raises the number of shards only where its own is higher', async () => {
    const { table, reaper } = stage();
    const writes: string[] = [];
    const watched: Table = {
      ...table,
      apply: (write) => {
        writes.push(write.transition);
        return table.apply(write);
      },
    };
    for (const shards of [8, 8, 7, 9]) await reaper('a', shards, watched).take();
    expect(writes).toEqual(['takeLead', 'takeLead', 'takeLead', 'takeLead', 'raiseShards']);
  });

  it('counts on its own shards, though somebody lowered the number that is kept', async () => {
    const { table, reaper } = stage();
    await reaper('a').take();
    table.put({ ...(await table.read('leader:reaper')), shards: 2 });
    expect(await reaper('a').extend(1)).toEqual({ outcome: 'extended', shards: 8 });
  });

  it('is no job: it is in no index and is not read as one', async () => {
    const { table, reaper } = stage();
    await reaper('a').take();
    const [row] = table.rows();
    expect(Object.keys(row ?? {}).sort()).toEqual([
      'jobId',
      'leader',
      'leaderUntil',
      'ledAt',
      'shards',
      'term',
    ]);
  });
});
