import { describe, expect, it } from 'vitest';
import type { Table } from '../../../lib/protocol/ports.ts';
import { reap } from '../../../lib/reaper/reap.ts';
import { createFakeClock, type FakeClock } from '../../../lib/testing/fake-clock.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { LEADER_KEY } from '../../../lib/wire/table.ts';
import { reapStage } from '../../support/reap-stage.ts';

type Options = Partial<Parameters<typeof reapStage>[0]>;

const scene = (options: Options & { readonly change?: (table: Table) => Partial<Table> } = {}) => {
  const memory = createMemoryTable();
  const clock = (options.clock as FakeClock | undefined) ?? createFakeClock();
  const counts: Record<string, number> = {};
  const counted =
    <A extends unknown[], R>(name: string, call: (...args: A) => R) =>
    (...args: A): R => {
      counts[name] = (counts[name] ?? 0) + 1;
      return call(...args);
    };
  const table: Table = {
    apply: counted('apply', memory.apply),
    applyMany: memory.applyMany,
    readMany: memory.readMany,
    read: counted('read', memory.read),
    query: counted('query', memory.query),
    count: counted('count', memory.count),
    ...options.change?.(memory),
  };
  const stage = reapStage({ ...options, table, clock });
  const row = () => memory.rows().find(({ jobId }) => jobId === LEADER_KEY);
  return { ...stage, memory, clock, counts, row };
};

/** Starts an act on the fake clock and lets it run to its end. */
const settled = async <T>(clock: { advance(ms: number): Promise<void> }, act: Promise<T>): Promise<T> => {
  await clock.advance(0);
  return act;
};

describe('a reaper that wakes the next', () => {
  it('continues by itself from one tick, idle or not, as often as a lease could lapse unseen', async () => {
    const { clock, tick, sent, sweeps, row } = scene();
    await settled(clock, tick());
    expect(sent).toMatchObject([{ token: 'wake-1', delaySeconds: 22 }]);
    expect(row()).toMatchObject({ wake: 'wake-1', wakeAt: clock.now() + 22_000 });
    await clock.advance(10 * 60_000);
    expect(sweeps()).toBe(1 + Math.floor(600 / 22));
  });

  it('leaves a lapse to the next, however near', async () => {
    const { clock, tick, claim, invocations, sent } = scene();
    await claim('near');
    await clock.advance(20_001);
    expect(await settled(clock, tick())).toMatchObject({ sweeps: 1, reclaimed: 0 });
    expect(sent.at(-1)).toMatchObject({ delaySeconds: 2 });
    await clock.advance(2000);
    expect(invocations.at(-1)).toMatchObject({ result: { sweeps: 1, reclaimed: 1 } });
  });

  it.each([
    ['twice', () => [0, 400] as const],
    ['early', () => [-3000] as const],
    ['late by less than five seconds', () => [4500] as const],
  ])('stays one chain when a message is delivered %s', async (_, delivery) => {
    const { clock, tick, sent, invocations } = scene({ delivery });
    for (let minute = 0; minute < 10; minute++) {
      void tick();
      await clock.advance(60_000);
    }
    // A chain of its own for every tick would send ten times as many.
    expect(sent.length).toBeLessThan(35);
    const superseded = invocations.filter(
      ({ result }) => result instanceof Object && 'ended' in result && result.ended === 'superseded',
    );
    expect(superseded.length).toBeLessThanOrEqual(sent.length);
  });

  it('fails the invocation when no message can be sent, so that the one before comes back', async () => {
    const { clock, tick, row } = scene({
      more: { wakeQueue: { send: () => Promise.reject(new Error('no permission')) } },
    });
    expect(await settled(clock, tick())).toMatchObject({ message: 'no permission' });
    expect(row()).toBeUndefined();
  });

  it('recognises its own promise after a lost reply, and yields to another’s', async () => {
    let lose = true;
    const { clock, tick, row, sent } = scene({
      change: (table) => ({
        apply: async (write) => {
          const result = await table.apply(write);
          if (!lose || write.transition !== 'scheduleNext') return result;
          lose = false;
          return table.apply(write);
        },
      }),
    });
    await settled(clock, tick());
    expect(row()?.wake).toBe('wake-1');
    await clock.advance(22_000);
    expect(sent).toHaveLength(2);
  });

  it('puts its promise off while it is at work, so that no tick starts a second chain', async () => {
    let slowMs = 0;
    const clock = createFakeClock();
    const { tick, row, sent } = scene({
      clock,
      change: (table) => ({
        query: async (request) => {
          if (slowMs > 0) await clock.sleep(slowMs);
          return table.query(request);
        },
      }),
    });
    await settled(clock, tick());
    slowMs = 20_000;
    await clock.advance(22_000 + 18_000);
    expect(Number(row()?.wakeAt)).toBeGreaterThan(clock.now());
    expect(sent).toHaveLength(1);
    const during = tick();
    await clock.advance(60_000);
    expect(await during).toMatchObject({ ended: 'swept' });
    expect(await during).not.toHaveProperty('wakeAt');
  });

  it('leaves the pending jobs to the ticks', async () => {
    const { clock, tick, store, hints } = scene();
    const job = { type: 't', payload: '{}', leaseMs: 30_000, maxAttempts: 5, maxCrashes: 3 };
    await settled(clock, tick());
    const due = clock.now() + 1000;
    await store.schedule({ ...job, jobId: 'due' }, { notBefore: due, leaseUntil: due, dispatches: 0 });
    await clock.advance(59_000);
    expect(hints).toEqual([]);
    await settled(clock, tick());
    expect(hints).toMatchObject([{ jobId: 'due', delaySeconds: 0 }]);
  });

  it('comes back after five seconds, not at once, when it could move nothing', async () => {
    let broken = true;
    const { clock, tick, claim, store, sent } = scene({
      change: (table) => ({
        query: (request) =>
          broken && request.partition.startsWith('r')
            ? Promise.reject(new Error('no answer'))
            : table.query(request),
      }),
    });
    await claim('job');
    await clock.advance(40_000);
    await settled(clock, tick());
    expect(sent.at(-1)).toMatchObject({ delaySeconds: 5 });
    await clock.advance(60_000);
    expect(sent.length).toBeLessThanOrEqual(13);
    broken = false;
    await clock.advance(5000);
    expect(await store.read('job')).toMatchObject({ status: 'pending' });
  });

  it('keeps and raises the number of shards', async () => {
    const first = scene({ settings: { shards: 4 } });
    await settled(first.clock, first.tick());
    expect(first.row()).toMatchObject({ shards: 4 });
    const more = reapStage({ table: first.memory, clock: first.clock, settings: { shards: 8 } });
    await settled(first.clock, more.tick());
    expect(first.row()).toMatchObject({ shards: 8 });
    await more.claim('job-of-many-shards');
    const fewer = reapStage({ table: first.memory, clock: first.clock, settings: { shards: 4 } });
    await first.clock.advance(22_000);
    await settled(first.clock, fewer.tick());
    expect(await first.store.read('job-of-many-shards')).toMatchObject({ status: 'pending' });
  });

  it('does nothing, and sends no wake, when it is switched off', async () => {
    const { clock, tick, counts, sent, telemetry } = scene({ settings: { reaperEnabled: false } });
    expect(await settled(clock, tick())).toMatchObject({ ended: 'disabled' });
    expect([counts, sent]).toEqual([{}, []]);
    expect(telemetry.lines).toMatchObject([
      { message: 'reaper is switched off: nothing is swept', fields: { setting: 'reaperEnabled' } },
    ]);
  });

  it('does not end before its events are published', async () => {
    const events: string[] = [];
    const clock = createFakeClock();
    const { tick, claim } = scene({
      clock,
      more: {
        events: {
          async publish(batch) {
            await clock.sleep(100);
            events.push(...batch.map(({ name }) => name));
          },
        },
      },
    });
    await claim('job', { maxAttempts: 1 });
    await clock.advance(40_000);
    const done = tick().then(() => [...events]);
    await clock.advance(0);
    await clock.advance(1000);
    expect(await done).toEqual(['JobFailed', 'JobQuarantined', 'ReaperLeadershipChanged']);
  });

  it('ends within its function’s limit, and the next continues where it stopped', async () => {
    const clock = createFakeClock();
    const settings = { minSweepIntervalMs: 500, maxRunning: 10_000, shards: 8 };
    const { claim, deps, memory } = scene({ clock, settings });
    for (let i = 0; i < 2500; i++) await claim(`job-${i}`);
    await clock.advance(40_000);
    const isPending = () => memory.rows().filter(({ status }) => status === 'pending').length;
    const first = reap(deps, { kind: 'tick' }, { deadlineAt: clock.now() + 1000 });
    await clock.advance(0);
    await clock.advance(5000);
    // The third would begin at the very moment at which the time is up.
    expect(await first).toMatchObject({ sweeps: 2, reclaimed: 2000 });
    expect(isPending()).toBeGreaterThanOrEqual(2000);
  });

  it('stops in the middle of a sweep when its time is up', async () => {
    const clock = createFakeClock();
    const { claim, deps } = scene({
      clock,
      settings: { shards: 1, maxRunning: 1000 },
      change: (table) => ({
        query: async (request) => {
          await clock.sleep(500);
          return table.query(request);
        },
      }),
    });
    for (let i = 0; i < 300; i++) await claim(`job-${i}`);
    await clock.advance(40_000);
    const run = reap(deps, { kind: 'tick' }, { deadlineAt: clock.now() + 1000 });
    await clock.advance(0);
    await clock.advance(60_000);
    const result = await run;
    expect(result.reclaimed).toBeGreaterThan(0);
    expect(result.reclaimed).toBeLessThan(300);
  });
});

describe('a reaper that is late', () => {
  it('reports each promised sweep that was late, and no other', async () => {
    let lost = 0;
    const { clock, tick, telemetry, sent } = scene({ delivery: () => (lost-- > 0 ? [] : [0]) });
    await settled(clock, tick());
    await clock.advance(10 * 60_000);
    expect(telemetry.total('ReaperLate')).toBe(0);
    // A message that never comes, as when Lambda takes the chain for an unwanted loop: the next tick mends it and tells.
    lost = 1;
    const before = sent.length;
    while (sent.length === before) await clock.advance(1000);
    await clock.advance(45_000);
    expect(telemetry.total('ReaperLate')).toBe(0);
    await settled(clock, tick());
    expect(telemetry.total('ReaperLate')).toBe(1);
  });

  it('reports a reclaim beyond the bound, and the attempt that crashed', async () => {
    const { clock, tick, claim, telemetry } = scene();
    await claim('job');
    await clock.advance(20_000 + 4000);
    await settled(clock, tick());
    expect(telemetry.total('ReaperLate')).toBe(0);
    await claim('late');
    await clock.advance(60_000);
    expect(telemetry.total('JobsCrashed')).toBe(2);
    const slow = scene();
    await slow.claim('job');
    await slow.clock.advance(20_000 + 4001);
    await settled(slow.clock, slow.tick());
    expect(slow.telemetry.total('ReaperLate')).toBe(1);
  });
});
