import { describe, expect, it } from 'vitest';
import type { CountQuery, Table } from '../../lib/protocol/ports.ts';
import { assessBreaker, isMassLapse, shareOut } from '../../lib/reaper/breaker.ts';
import { sweep } from '../../lib/reaper/sweep.ts';
import { createSweepMemory } from '../../lib/reaper/sweep-memory.ts';
import { createHandClock } from '../../lib/testing/hand-clock.ts';
import { createMemoryTable } from '../../lib/testing/memory-table.ts';
import { beat, reaperStage } from '../support/reaper-stage.ts';

const stage = (settings: Readonly<Record<string, unknown>> = {}) => {
  const memoryTable = createMemoryTable();
  const clock = createHandClock();
  const counts: CountQuery[] = [];
  const table: Table = {
    ...memoryTable,
    count: (request) => {
      counts.push(request);
      return memoryTable.count(request);
    },
  };
  const set = reaperStage({ table, clock, settings });
  const memory = createSweepMemory(set.deps);
  return {
    ...set,
    clock,
    counts,
    rows: memoryTable.rows,
    sweepAgain: () => sweep(set.deps, { memory }),
    claimMany: async (count: number, leaseMs?: number) => {
      for (let i = 0; i < count; i++)
        await set.claim(`${leaseMs ?? 'job'}-${i}`, leaseMs === undefined ? {} : { leaseMs });
    },
    lapse: () => clock.advance(set.settings.leaseMs + set.settings.skewMs),
  };
};

describe('a mass lapse', () => {
  const settings = { breakerThreshold: 50, breakerShare: 0.5 };

  it.each([
    { lapsed: 49, live: 0, is: false },
    { lapsed: 50, live: 0, is: true },
    { lapsed: 50, live: 49, is: true },
    { lapsed: 50, live: 50, is: false },
    { lapsed: 5000, live: 5001, is: false },
    { lapsed: 5001, live: 5000, is: true },
  ])('of $lapsed beside $live live leases: $is', ({ lapsed, live, is }) => {
    expect(isMassLapse({ lapsed, live }, settings)).toBe(is);
  });

  it('is assumed when there are more than are worth counting', () => {
    expect(isMassLapse({ lapsed: 2500, live: 9999, tooManyToCount: true }, settings)).toBe(true);
  });
});

describe('the breaker', () => {
  it('opens on a mass lapse: moves a bounded number a sweep, charges no crash, and tells once', async () => {
    const { claimMany, lapse, sweepAgain, events, telemetry, rows, clock } = stage({ breakerPerSweep: 100 });
    await claimMany(230);
    await lapse();
    const moved = [];
    for (let i = 0; i < 3; i++) {
      const result = await sweepAgain();
      expect(result.breakerOpen).toBe(true);
      moved.push(result.reclaimed);
      await clock.advance(500);
    }
    expect(moved).toEqual([100, 100, 30]);
    expect(rows().filter((row) => row.status === 'pending')).toHaveLength(230);
    expect(rows().every((row) => row.crashes === 0 && row.releases === 1)).toBe(true);
    expect(events.filter(({ name }) => name === 'ReaperBreakerOpened')).toEqual([
      { name: 'ReaperBreakerOpened', detail: { lapsed: 230, live: 0, at: expect.any(Number) } },
    ]);
    expect(telemetry.values('BreakerOpen')).toEqual([1, 1, 1]);
  });

  it('closes when the event is over, and charges the next crash again', async () => {
    const { claimMany, claim, lapse, sweepAgain, telemetry, store, clock, events } = stage();
    await claimMany(60);
    await lapse();
    expect(await sweepAgain()).toMatchObject({ breakerOpen: true, reclaimed: 60 });
    await clock.advance(500);
    await claim('job-0');
    await lapse();
    expect(await sweepAgain()).toMatchObject({ breakerOpen: false, reclaimed: 1 });
    expect(await store.read('job-0')).toMatchObject({ crashes: 1, releases: 1 });
    expect(telemetry.values('BreakerOpen')).toEqual([1]);
    expect(telemetry.lines.map((line) => line.message)).toContain(
      'breaker closed: jobs are reclaimed at full speed again',
    );
    await claimMany(60);
    await lapse();
    expect(await sweepAgain()).toMatchObject({ breakerOpen: true });
    expect(events.filter(({ name }) => name === 'ReaperBreakerOpened')).toHaveLength(2);
  });

  it('stays closed when as many leases are live', async () => {
    const { claimMany, lapse, sweepAgain, rows } = stage();
    await claimMany(60);
    await claimMany(60, 600_000);
    await lapse();
    expect(await sweepAgain()).toMatchObject({ breakerOpen: false, reclaimed: 60 });
    expect(rows().filter((row) => row.crashes === 1)).toHaveLength(60);
  });

  it('lets a lapsed job go that its worker still beats for', async () => {
    const { claim, claimMany, lapse, sweepAgain, store, clock } = stage();
    const job = await claim('survivor');
    await claimMany(60);
    await lapse();
    await beat(store, job, clock.now());
    expect(await sweepAgain()).toMatchObject({ breakerOpen: true, reclaimed: 60 });
    expect(await store.read('survivor')).toMatchObject({ status: 'running' });
  });

  it('counts nothing while few leases have lapsed, and no further than its cap when many have', async () => {
    const { claimMany, lapse, sweepAgain, counts, clock } = stage();
    await claimMany(1000, 600_000);
    await claimMany(20);
    await lapse();
    await sweepAgain();
    expect(counts).toEqual([]);
    await clock.advance(500);
    await claimMany(200);
    await lapse();
    await sweepAgain();
    expect(counts).toHaveLength(8);
    expect(counts.every((count) => count.atMost === 2500)).toBe(true);
  });

  it('opens rather than not when live leases cannot be counted', async () => {
    const { deps } = stage();
    const table: Table = { ...deps.table, count: () => Promise.reject(new Error('no answer')) };
    const look = { shard: 'r0', lapsed: 60, mayHoldMore: false, live: undefined };
    const state = { open: false, heldBack: false };
    const verdict = await assessBreaker({ ...deps, table }, state, [look], { now: 0, runningShards: ['r0'] });
    expect(verdict).toMatchObject({ open: true, change: 'opened', lapsed: 60 });
  });

  it('shares its budget out evenly, and what is over to the oldest lapses', () => {
    const shards = [{ oldest: 3 }, { oldest: 1 }, { oldest: 2 }];
    expect([...shareOut(25, shards)].map(([{ oldest }, rows]) => [oldest, rows])).toEqual([
      [1, 9],
      [2, 8],
      [3, 8],
    ]);
    expect(
      [
        ...shareOut(
          25,
          Array.from({ length: 100 }, (_, oldest) => ({ oldest })),
        ).values(),
      ].slice(0, 26),
    ).toEqual([...Array.from({ length: 25 }, () => 1), 0]);
  });
});
