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

  describe('before the first write', () => {
    const look = { shard: 'r0', lapsed: 0, mayHoldMore: false, live: undefined as number | undefined };
    const at = { now: 100_000, runningShards: ['r0', 'r1'] };
    /** A table whose shards hold so many lapsed and live leases. */
    const assess = async (
      looks: readonly (typeof look)[],
      counts: Readonly<Record<string, { lapsed?: number; live?: number; isCut?: boolean }>> = {},
      state = { open: false, heldBack: false },
    ) => {
      const { deps } = stage({ breakerThreshold: 10, breakerPerSweep: 100, skewMs: 2000, graceMs: 500 });
      const asked: CountQuery[] = [];
      const table: Table = {
        ...deps.table,
        async count(request) {
          asked.push(request);
          const of = counts[request.partition];
          if (of === undefined) throw new Error('no answer');
          return { count: (request.upTo === undefined ? of.live : of.lapsed) ?? 0, complete: !of.isCut };
        },
      };
      const verdict = await assessBreaker({ ...deps, table }, state, looks, at);
      return { verdict, asked, state };
    };

    it('counts nothing below the threshold, and says what it saw', async () => {
      const { verdict, asked } = await assess([{ ...look, lapsed: 9 }]);
      expect(verdict).toMatchObject({ open: false, change: undefined, lapsed: 9, live: 0, budget: Infinity });
      expect(asked).toEqual([]);
    });

    it('counts the live leases from the threshold on, but for shards that it has seen to their end', async () => {
      const { verdict, asked } = await assess([{ ...look, lapsed: 10, live: 4 }], { r1: { live: 7 } });
      expect(verdict).toMatchObject({ open: false, lapsed: 10, live: 11 });
      // What may not be acted on yet counts as live.
      expect(asked).toEqual([{ partition: 'r1', after: 97_500, atMost: 2500 }]);
    });

    it('counts the lapsed ones of a shard whose first page was full, and no others', async () => {
      const looks = [
        { ...look, lapsed: 3, mayHoldMore: true },
        { ...look, shard: 'r1', lapsed: 2 },
      ];
      const few = await assess(looks, { r0: { lapsed: 7 } });
      expect(few.verdict).toMatchObject({ open: false, lapsed: 9, live: 0 });
      expect(few.asked).toEqual([{ partition: 'r0', upTo: 97_500, atMost: 2500 }]);
      const enough = await assess(looks, { r0: { lapsed: 8, live: 1 }, r1: { live: 1 } });
      expect(enough.verdict).toMatchObject({ open: true, change: 'opened', lapsed: 10, live: 2 });
    });

    it('believes its own eyes where a count says less', async () => {
      const { verdict } = await assess([{ ...look, lapsed: 12, mayHoldMore: true, live: 0 }], {
        r0: { lapsed: 5 },
        r1: { live: 0 },
      });
      expect(verdict).toMatchObject({ lapsed: 12 });
    });

    it('takes more than can be counted for a mass lapse, however many live', async () => {
      const counts = { r0: { lapsed: 2500, isCut: true, live: 9000 }, r1: { live: 9000 } };
      const looks = [
        { ...look, lapsed: 12, mayHoldMore: true },
        { ...look, shard: 'r1', lapsed: 0 },
      ];
      expect((await assess(looks, counts)).verdict).toMatchObject({ open: true });
    });

    it('does not take what it could not count for more than can be counted', async () => {
      const { verdict } = await assess([{ ...look, lapsed: 12, mayHoldMore: true, live: 50 }], {
        r1: { live: 50 },
      });
      expect(verdict).toMatchObject({ open: false, lapsed: 12, live: 100 });
    });

    it('stays open for the rest that it held back, without counting, and closes after it', async () => {
      const rest = await assess([{ ...look, lapsed: 1 }], {}, { open: true, heldBack: true });
      expect(rest.verdict).toMatchObject({ open: true, change: undefined, lapsed: 1, budget: 100 });
      expect(rest.asked).toEqual([]);
      const later = await assess([{ ...look, lapsed: 1 }], {}, { open: true, heldBack: false });
      expect(later.verdict).toMatchObject({ open: false, change: 'closed', budget: Infinity });
    });
  });

  it('without a limit limits no shard', () => {
    const shards = [{ oldest: 3 }, { oldest: 1 }];
    expect([...shareOut(Number.POSITIVE_INFINITY, shards)]).toEqual(shards.map((each) => [each, Infinity]));
    expect(shareOut(25, [])).toEqual(new Map());
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
