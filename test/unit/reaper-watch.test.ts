import { describe, expect, it } from 'vitest';
import type { ClockGuard } from '../../lib/protocol/clock-guard.ts';
import type { Table } from '../../lib/protocol/ports.ts';
import { type WatchOptions, type WatchResult, watch } from '../../lib/reaper/watch.ts';
import { createHandChance } from '../../lib/testing/hand-chance.ts';
import { createHandClock, type HandClock } from '../../lib/testing/hand-clock.ts';
import { createMemoryTable, type MemoryTable } from '../../lib/testing/memory-table.ts';
import { LEADER_KEY } from '../../lib/wire/table.ts';
import { beat, type ReaperStage, reaperStage } from '../support/reaper-stage.ts';

const WINDOW = 110_000;

interface Started {
  readonly done: Promise<WatchResult>;
  ended?: WatchResult['ended'];
}

interface Watched extends ReaperStage {
  /** Starts a watch over the usual window; `ended` is filled in when it is over. */
  start(options?: Partial<WatchOptions>): Promise<Started>;
  readonly sweeps: () => number;
  readonly queries: () => number;
}

interface Scene {
  readonly table: MemoryTable;
  readonly clock: HandClock;
  reaper(
    name: string,
    settings?: Readonly<Record<string, unknown>>,
    change?: (table: Table) => Partial<Table>,
  ): Watched;
}

function scene(): Scene {
  const table = createMemoryTable();
  const clock = createHandClock();
  const chance = createHandChance();
  return {
    table,
    clock,
    reaper(name, settings = {}, change = () => ({})) {
      let queries = 0;
      const own: Table = {
        ...table,
        query: (request) => {
          queries += 1;
          return table.query(request);
        },
        ...change(table),
      };
      const stage = reaperStage({ table: own, clock, settings, name, chance });
      return {
        ...stage,
        sweeps: () => stage.telemetry.values('SweepDuration').length,
        queries: () => queries,
        async start(options = {}) {
          const done = watch(stage.deps, { deadlineAt: clock.now() + WINDOW, ...options });
          const started: Started = { done };
          void done.then((result) => {
            started.ended = result.ended;
          });
          await clock.advance(0);
          return started;
        },
      };
    },
  };
}

const leader = (table: MemoryTable) => table.rows().find((row) => row.jobId === LEADER_KEY);

describe('a watching reaper', () => {
  it('looks once in a while when nothing is live', async () => {
    const { clock, reaper } = scene();
    const { start, queries, telemetry } = reaper('a');
    const watching = await start();
    await clock.advance(0);
    expect(queries()).toBe(8);
    expect(telemetry.lines).toEqual([
      expect.objectContaining({ message: 'reaper leadership acquired', level: 'info' }),
    ]);
    expect(telemetry.values('LeasesLive')).toEqual([]);
    await clock.advance(60_000);
    expect(watching.ended).toBeUndefined();
    // Every 12 s at the running shards, every minute at the pending ones.
    expect(queries()).toBe(8 + 5 * 4 + 4);
  });

  it('takes a job back at the very tick at which its lease has lapsed', async () => {
    const { clock, reaper } = scene();
    const { start, claim, store, telemetry } = reaper('a');
    await claim('job');
    await start();
    await clock.advance(31_999);
    expect(await store.read('job')).toMatchObject({ status: 'running' });
    await clock.advance(1);
    expect(await store.read('job')).toMatchObject({ status: 'pending' });
    expect(telemetry.values('ReclaimDelay')).toEqual([2000]);
  });

  it('sees a job that was claimed while it slept', async () => {
    const { clock, reaper } = scene();
    const { start, claim, store } = reaper('a');
    await claim('long', { leaseMs: 600_000 });
    await start();
    await clock.advance(5001);
    await claim('short', { leaseMs: 10_000 });
    await clock.advance(12_000);
    expect(await store.read('short')).toMatchObject({ status: 'pending' });
  });

  it('sweeps no more often than is set, however many leases lapse one after the other', async () => {
    const { clock, reaper } = scene();
    const { start, claim, sweeps } = reaper('a', { minSweepIntervalMs: 1000 });
    for (let i = 0; i < 100; i++) {
      await claim(`job-${i}`);
      await clock.advance(50);
    }
    await start();
    await clock.advance(26_000);
    const before = sweeps();
    await clock.advance(6000);
    expect(sweeps() - before).toBeLessThanOrEqual(7);
    expect(sweeps() - before).toBeGreaterThanOrEqual(5);
  });

  it('does not spin on rows that it cannot move', async () => {
    const { clock, reaper, table } = scene();
    const { start, queries, claim } = reaper('a');
    for (let i = 0; i < 30; i++)
      table.put({ jobId: `bad-${i}`, status: 'running', leaseShard: 'r2', leaseUntil: 5 });
    await claim('live', { leaseMs: 3_600_000 });
    await start();
    await clock.advance(WINDOW);
    // A look at the four running shards every 12 s, one more page for the bad ones, and two at the pending shards.
    expect(queries()).toBeLessThanOrEqual(10 * 6 + 2 * 4);
  });

  it('lets go at its deadline, before the function’s own', async () => {
    const { clock, reaper, table } = scene();
    const { start, claim, store } = reaper('a');
    const job = await claim('job');
    const watching = await start();
    for (let ms = 0; ms < WINDOW; ms += 10_000) {
      await clock.advance(10_000);
      await beat(store, job, clock.now());
    }
    expect(watching.ended).toBe('deadline');
    expect(leader(table)).toMatchObject({ leaderUntil: 0 });
    expect(clock.sleepers).toBe(0);
  });

  it('hints a pending job at the tick at which it falls due', async () => {
    const { clock, reaper } = scene();
    const { start, store, hints } = reaper('a');
    const job = { type: 't', payload: '{}', leaseMs: 30_000, maxAttempts: 5, maxCrashes: 3 };
    const soon = clock.now() + 50_000;
    const later = clock.now() + 200_000;
    await store.schedule({ ...job, jobId: 'later' }, { notBefore: later, leaseUntil: later, dispatches: 0 });
    await store.schedule({ ...job, jobId: 'soon' }, { notBefore: soon, leaseUntil: soon, dispatches: 0 });
    await start();
    await clock.advance(49_999);
    expect(hints).toEqual([]);
    await clock.advance(1);
    expect(hints).toMatchObject([{ jobId: 'soon', delaySeconds: 0 }]);
  });

  it('does nothing, and says so, when it is switched off', async () => {
    const { clock, reaper, table } = scene();
    const { start, claim, queries, telemetry, settings } = reaper('a', { reaperEnabled: false });
    await claim('job');
    await clock.advance(settings.leaseMs * 2);
    const watching = await start();
    await clock.advance(0);
    expect(watching.ended).toBe('disabled');
    expect(queries()).toBe(0);
    expect(leader(table)).toBeUndefined();
    expect(telemetry.lines).toEqual([
      expect.objectContaining({ message: 'reaper is switched off: nothing is swept' }),
    ]);
  });

  it('looks everywhere again when the wall clock was set', async () => {
    const { clock, reaper } = scene();
    const { start, claim, queries, store } = reaper('a');
    await start({ deadlineAt: clock.now() + 10 * WINDOW });
    await clock.advance(100);
    expect(queries()).toBe(8);
    clock.set(clock.now() - 3_600_000);
    await clock.advance(13_000);
    expect(queries()).toBe(16);
    await claim('job');
    await clock.advance(32_000);
    expect(await store.read('job')).toMatchObject({ status: 'pending' });
  });

  it('counts live leases every five minutes, and no further than the cap', async () => {
    const { clock, reaper } = scene();
    const counted: number[] = [];
    const { start, claim, telemetry } = reaper('a', {}, (table) => ({
      count: (request) => {
        counted.push(request.atMost);
        return table.count(request);
      },
    }));
    for (let i = 0; i < 100; i++) await claim(`job-${i}`, { leaseMs: 600_000 });
    await start({ deadlineAt: clock.now() + 10 * WINDOW });
    await clock.advance(299_000);
    expect(telemetry.values('LeasesLive')).toEqual([100]);
    expect(counted).toEqual([1000, 1000, 1000, 1000]);
    await clock.advance(20_000);
    expect(telemetry.values('LeasesLive')).toEqual([100, 100]);
  });
});

describe('two reapers', () => {
  it('sweep one at a time, and the second takes over when the first lets go', async () => {
    const { clock, reaper, table } = scene();
    const first = reaper('a');
    const second = reaper('b');
    const job = await first.claim('job', { leaseMs: 600_000 });
    expect(job.attempt).toBe(1);
    const one = await first.start();
    await clock.advance(60_000);
    const two = await second.start();
    await clock.advance(47_000);
    expect(one.ended).toBeUndefined();
    expect(second.sweeps()).toBe(0);
    await clock.advance(3000);
    expect(one.ended).toBe('deadline');
    expect(second.sweeps()).toBe(1);
    expect(leader(table)).toMatchObject({ leader: 'b' });
    expect(two.ended).toBeUndefined();
    const changes = [...first.events, ...second.events].map(({ detail }) => detail);
    expect(changes).toEqual([
      expect.objectContaining({ leader: 'a', change: 'acquired', epoch: 1 }),
      expect.objectContaining({ leader: 'a', change: 'released', epoch: 1 }),
      expect.objectContaining({ leader: 'b', change: 'acquired', epoch: 2 }),
    ]);
  });

  it('go on when the leader dies without a word', async () => {
    const { clock, reaper } = scene();
    const dying = reaper('a', {}, (table) => ({
      query: async (request) => (clock.monotonic() > 20_000 ? new Promise(() => {}) : table.query(request)),
    }));
    const heir = reaper('b');
    await dying.claim('job');
    await dying.start();
    await heir.start();
    await clock.advance(32_000 + 15_000);
    expect(await heir.store.read('job')).toMatchObject({ status: 'pending' });
  });

  it('tell when the lead was taken from one', async () => {
    const { clock, reaper, table } = scene();
    const { start, claim, events, sweeps } = reaper('a');
    await claim('job', { leaseMs: 600_000 });
    await start();
    await clock.advance(1000);
    table.put({ ...leader(table), leader: 'usurper', term: 9, leaderUntil: clock.now() + 60_000 });
    await clock.advance(12_000);
    expect(events.map(({ detail }) => detail)).toEqual([
      expect.objectContaining({ change: 'acquired' }),
      expect.objectContaining({ change: 'lost', leader: 'a', epoch: 1 }),
    ]);
    const before = sweeps();
    await clock.advance(40_000);
    expect(sweeps()).toBe(before);
  });

  it('both sweep when nobody can tell who leads', async () => {
    const { clock, reaper } = scene();
    const leaderless = (table: Table): Partial<Table> => ({
      apply: (write) =>
        write.jobId === LEADER_KEY ? Promise.reject(new Error('no such row')) : table.apply(write),
    });
    const first = reaper('a', {}, leaderless);
    const second = reaper('b', {}, leaderless);
    for (let i = 0; i < 30; i++) await first.claim(`job-${i}`);
    await first.start();
    await second.start();
    await clock.advance(32_000);
    expect(first.sweeps()).toBeGreaterThan(1);
    expect(second.sweeps()).toBeGreaterThan(1);
    expect(first.telemetry.total('JobsReclaimed') + second.telemetry.total('JobsReclaimed')).toBe(30);
  });

  it.each([
    ['has no end', {}],
    ['has an end that is not a number', { leaderUntil: 'soon' }],
    ['ends in the year 2200', { leaderUntil: Date.UTC(2200, 0) }],
  ])('sweep at their own pace though the row’s lead %s', async (_, edited) => {
    const { clock, reaper, table } = scene();
    table.put({ jobId: LEADER_KEY, leader: 'gone', term: 1, ...edited });
    const only = reaper('a');
    await only.claim('job');
    await only.start();
    await clock.advance(32_500);
    expect(only.telemetry.total('JobsReclaimed')).toBe(1);
    expect(only.sweeps()).toBeLessThan(10);
  });

  it('lose the lead when their sweeps get nowhere', async () => {
    const { clock, reaper, table } = scene();
    const blind = reaper('a', {}, () => ({
      query: () => Promise.reject(new Error('no answer')),
    }));
    const heir = reaper('b');
    await blind.start();
    await heir.start();
    await clock.advance(15_500);
    expect(leader(table)).toMatchObject({ leader: 'b' });
    expect(heir.sweeps()).toBeGreaterThan(0);
  });

  it('find the jobs of more shards as soon as either knows of them', async () => {
    const { clock, reaper } = scene();
    const old = reaper('a', { shards: 4 });
    const grown = reaper('b', { shards: 32 });
    await old.start();
    await clock.advance(1000);
    for (let i = 0; i < 40; i++) await grown.claim(`job-${i}`);
    await grown.start();
    await clock.advance(32_000);
    expect(grown.sweeps()).toBe(0);
    expect(old.telemetry.total('JobsReclaimed')).toBe(40);
  });
});

describe('a reaper with a wrong clock', () => {
  const guard = (): ClockGuard & { offsetMs: number } => ({
    offsetMs: 0,
    observe: () => {},
    offset() {
      return { offsetMs: this.offsetMs, uncertaintyMs: 500, measuredAt: 0 };
    },
    isSound() {
      return Math.abs(this.offsetMs) < 1500;
    },
  });

  it('gives up the lead, touches nothing, and comes back when its clock is right', async () => {
    const { clock, reaper, table } = scene();
    const { deps, claim, store, telemetry, sweeps } = reaper('a');
    const clockGuard = guard();
    await claim('job');
    const watching = watch({ ...deps, clockGuard }, { deadlineAt: clock.now() + WINDOW });
    await clock.advance(0);
    await clock.advance(1000);
    expect(leader(table)).toMatchObject({ leader: 'a', leaderUntil: expect.any(Number) });
    clockGuard.offsetMs = 5000;
    await clock.advance(31_000);
    expect(await store.read('job')).toMatchObject({ status: 'running' });
    expect(leader(table)).toMatchObject({ leaderUntil: 0 });
    expect(telemetry.values('ClockOffset').at(-1)).toBe(5000);
    const before = sweeps();
    clockGuard.offsetMs = 0;
    await clock.advance(2000);
    expect(sweeps()).toBeGreaterThan(before);
    expect(await store.read('job')).toMatchObject({ status: 'pending' });
    await clock.advance(WINDOW);
    await watching;
  });

  it('stops writing in the middle of a sweep', async () => {
    const { clock, reaper, table } = scene();
    const { deps, claim, settings } = reaper('a');
    for (let i = 0; i < 40; i++) await claim(`job-${i}`);
    await clock.advance(settings.leaseMs * 2);
    const clockGuard = guard();
    const skewed: Table = {
      ...table,
      query: (request) => {
        clockGuard.offsetMs = 60_000;
        return table.query(request);
      },
    };
    const watching = watch({ ...deps, clockGuard, table: skewed }, { deadlineAt: clock.now() + 1000 });
    await clock.advance(0);
    await clock.advance(3000);
    await watching;
    expect(table.rows().filter((row) => row.status === 'running')).toHaveLength(40);
  });
});
