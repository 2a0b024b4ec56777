import { describe, expect, it } from 'vitest';
import { StoreUnavailableError, ThrottledError } from '../../lib/protocol/errors.ts';
import { LEASE_EXPIRED } from '../../lib/protocol/job.ts';
import type { Table } from '../../lib/protocol/ports.ts';
import { sweep } from '../../lib/reaper/sweep.ts';
import { createFakeClock } from '../../lib/testing/fake-clock.ts';
import { createMemoryTable } from '../../lib/testing/memory-table.ts';
import { reaperStage } from '../support/reaper-stage.ts';

const stage = (settings: Readonly<Record<string, unknown>> = {}) => {
  const table = createMemoryTable();
  const clock = createFakeClock();
  const queries: string[] = [];
  const watched: Table = {
    ...table,
    query: (request) => {
      queries.push(request.partition);
      return table.query(request);
    },
  };
  const set = reaperStage({ table: watched, clock, settings });
  return {
    ...set,
    table,
    watched,
    clock,
    /** The shards read since the last call. */
    reads: () => queries.splice(0),
    untilLapse: set.settings.leaseMs + set.settings.skewMs,
  };
};

/** A stage with a job `a` whose lease has just lapsed. */
const lapsedStage = async () => {
  const set = stage();
  await set.claim('a');
  await set.clock.advance(set.untilLapse);
  return set;
};

describe('a sweep', () => {
  it('takes a job back at the tick its lease and the skew end, and not one tick before', async () => {
    const { deps, clock, claim, store, untilLapse, hints, events } = stage();
    await claim('a');
    await clock.advance(untilLapse - 1);
    expect(await sweep(deps)).toMatchObject({ reclaimed: 0, nextLapseAt: clock.now() + 1 });
    await clock.advance(1);
    expect(await sweep(deps)).toMatchObject({ reclaimed: 1, complete: true });
    expect(await store.read('a')).toMatchObject({
      status: 'pending',
      attempt: 1,
      crashes: 0,
      lapses: 1,
      lastError: LEASE_EXPIRED,
    });
    expect(hints).toMatchObject([{ jobId: 'a', delaySeconds: 0 }]);
    const detail = { jobId: 'a', attempt: 1, lapses: 1, at: clock.now(), reclaimDelayMs: 2000 };
    expect(events).toMatchObject([{ name: 'JobReclaimed', detail }]);
  });

  it('hints a forgotten job again, each time after twice as long', async () => {
    const { deps, clock, hints, settings, table } = await lapsedStage();
    await sweep(deps);
    const waits = [];
    for (let i = 0; i < 5; i++) {
      const wait = Number((await table.read('a'))?.leaseUntil) - clock.now();
      waits.push(wait / settings.dispatchLeaseMs);
      await clock.advance(wait - 1);
      expect(await sweep(deps)).toMatchObject({ redispatched: 0 });
      await clock.advance(1);
      expect(await sweep(deps)).toMatchObject({ redispatched: 1 });
    }
    expect(waits).toEqual([1, 2, 4, 8, 16]);
    expect(hints).toHaveLength(6);
  });

  it('quarantines a job whose host was lost as often as is allowed', async () => {
    const { deps, clock, claim, store, events, telemetry, untilLapse } = stage({ maxLapses: 3 });
    for (let lapse = 1; lapse <= 3; lapse++) {
      await claim('poison');
      await clock.advance(untilLapse);
      const result = await sweep(deps);
      expect(result).toMatchObject(
        lapse < 3 ? { reclaimed: 1, quarantined: 0 } : { reclaimed: 0, quarantined: 1 },
      );
      await clock.advance(60_000);
    }
    expect(await store.read('poison')).toMatchObject({
      status: 'failed',
      attempt: 3,
      crashes: 0,
      lapses: 3,
      lastError: LEASE_EXPIRED,
    });
    expect(events.map((event) => event.name)).toEqual([
      'JobReclaimed',
      'JobReclaimed',
      'JobFailed',
      'JobQuarantined',
    ]);
    expect(events.at(-1)).toMatchObject({
      detail: { jobId: 'poison', lapses: 3, lastError: LEASE_EXPIRED },
    });
    expect(telemetry.total('JobsQuarantined')).toBe(1);
    expect(telemetry.total('JobsFailed')).toBe(1);
  });
});

describe('a sweep in trouble', () => {
  it('skips a row that cannot be read, says so, and does the others', async () => {
    const { deps, table, clock, claim, telemetry, untilLapse } = stage();
    for (let i = 0; i < 20; i++) await claim(`job-${i}`);
    for (let i = 0; i < 15; i++)
      table.put({ jobId: `bad-${i}`, status: 'running', leaseShard: 'r1', leaseUntil: i });
    await clock.advance(untilLapse);
    expect(await sweep(deps)).toMatchObject({ reclaimed: 20, skipped: { bad: 15 } });
    expect(telemetry.lines.filter((line) => line.level === 'error')).toHaveLength(15);
  });

  it('does the other shards when one cannot be read, and that one later', async () => {
    const { deps, clock, claim, watched, untilLapse } = stage();
    for (let i = 0; i < 20; i++) await claim(`job-${i}`);
    await clock.advance(untilLapse);
    const broken: Table = {
      ...watched,
      query: (request) =>
        request.partition === 'r1' ? Promise.reject(new Error('unreachable')) : watched.query(request),
    };
    const first = await sweep({ ...deps, table: broken });
    expect(first).toMatchObject({ errors: 1, complete: false });
    expect(first.reclaimed).toBeGreaterThan(5);
    await clock.advance(1000);
    const second = await sweep(deps);
    expect(first.reclaimed + second.reclaimed).toBe(20);
  });

  it('moves a throttled row in a later sweep, and charges one lapse', async () => {
    const { deps, store } = await lapsedStage();
    const error = new ThrottledError('reclaim', {});
    const reapMany = async () => [{ outcome: 'failed' as const, error }];
    const throttled = { ...deps, store: { ...deps.store, reapMany } };
    expect(await sweep(throttled)).toMatchObject({
      ...{ skipped: { unwritten: 1 }, complete: false, inTrouble: true },
    });
    expect(await sweep(deps)).toMatchObject({ reclaimed: 1, complete: true });
    expect(await store.read('a')).toMatchObject({ lapses: 1 });
  });

  it('is not in trouble for a row that the store will never write, and says how old it is', async () => {
    const { deps, clock, claim, untilLapse, telemetry } = stage();
    await claim('a');
    await clock.advance(untilLapse + 100_000);
    const invalid = Object.assign(new Error('too deep'), { name: 'ValidationException' });
    const error = new StoreUnavailableError('reclaim', invalid);
    const reapMany = async () => [{ outcome: 'failed' as const, error }];
    const refusing = { ...deps, store: { ...deps.store, reapMany } };
    expect(await sweep(refusing)).toMatchObject({
      ...{ skipped: { unwritten: 1 }, complete: true, inTrouble: false },
    });
    expect(telemetry.values('OldestLapsedLease')).toEqual([102_000]);
  });

  it('tries a row again whose lapses were forgiven after it was looked at', async () => {
    const { deps, watched, table } = await lapsedStage();
    // What the index told a moment ago: lapses that a checkpoint has forgiven since.
    const stale: Table = {
      ...watched,
      async query(request) {
        const page = await table.query(request);
        return { ...page, rows: page.rows.map((row) => ({ ...row, lapses: 1 })) };
      },
    };
    expect(await sweep({ ...deps, table: stale })).toMatchObject({ skipped: { moved: 1 } });
    expect(await sweep(deps)).toMatchObject({ reclaimed: 1 });
  });

  it('keeps the jobs when the queue takes no hints, and hints when the queue’s lease ends', async () => {
    const { deps, clock, settings, hints } = await lapsedStage();
    const deaf = { ...deps, queue: { sendHints: () => Promise.reject(new Error('no queue')) } };
    expect(await sweep(deaf)).toMatchObject({ reclaimed: 1, hintsFailed: 1 });
    await clock.advance(settings.dispatchLeaseMs);
    expect(await sweep(deps)).toMatchObject({ redispatched: 1 });
    expect(hints).toHaveLength(1);
  });

  it('gives up on a queue that does not answer, and continues', async () => {
    const { deps, clock, claim, untilLapse } = stage();
    for (let i = 0; i < 600; i++) await claim(`job-${i}`);
    await clock.advance(untilLapse);
    const silent = { ...deps, queue: { sendHints: () => new Promise<never>(() => {}) } };
    const sweeping = sweep(silent);
    await clock.advance(0);
    for (let i = 0; i < 3; i++) await clock.advance(10_000);
    expect(await sweeping).toMatchObject({ reclaimed: 600, hintsSent: 0, hintsFailed: 600 });
    expect(clock.sleepers).toBe(0);
  });

  it('does not wait for a bus that does not answer', async () => {
    const { deps, clock, claim, untilLapse } = stage();
    for (let i = 0; i < 600; i++) await claim(`job-${i}`);
    await clock.advance(untilLapse);
    const silent = { ...deps, events: { publish: () => new Promise<void>(() => {}) } };
    const sweeping = sweep(silent);
    await clock.advance(0);
    await clock.advance(3000);
    expect((await sweeping).reclaimed).toBe(600);
  });
});

describe('a sweep of very many lapsed leases', () => {
  const lapsed = async (count: number) => {
    const set = stage();
    for (let i = 0; i < count; i++) await set.claim(`job-${i}`);
    await set.clock.advance(set.untilLapse);
    return set;
  };

  it('moves a thousand of them, from every shard, and says that it held the others back', async () => {
    const { deps, table } = await lapsed(2500);
    const shards = () =>
      ['r0', 'r1', 'r2', 'r3'].map(
        (shard) => table.rows().filter(({ leaseShard }) => leaseShard === shard).length,
      );
    const before = shards();
    const result = await sweep(deps);
    expect(result).toMatchObject({ reclaimed: 1000, complete: false, inTrouble: false });
    expect(result.skipped.overCap).toBeGreaterThan(0);
    expect(shards()).toEqual(before.map((count) => count - 250));
  });

  it('reaches all of them within as many sweeps as there are thousands, none late for that', async () => {
    const { deps, clock, telemetry, settings } = await lapsed(2500);
    let reclaimed = 0;
    for (let sweeps = 0; sweeps < 3; sweeps++) {
      reclaimed += (await sweep(deps, { isCatchingUp: sweeps > 0 })).reclaimed;
      await clock.advance(60 * settings.minSweepIntervalMs);
    }
    expect(reclaimed).toBe(2500);
    expect(telemetry.total('ReaperLate')).toBe(0);
  });
});
