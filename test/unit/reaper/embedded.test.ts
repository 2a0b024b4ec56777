import { describe, expect, it } from 'vitest';
import type { ClockGuard } from '../../../lib/protocol/clock-guard.ts';
import { StoreUnavailableError } from '../../../lib/protocol/errors.ts';
import type { Table, WakeQueue } from '../../../lib/protocol/ports.ts';
import { createEmbeddedReaper } from '../../../lib/reaper/embedded.ts';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';
import { createFakeRandom } from '../../../lib/testing/fake-random.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { LEADER_KEY } from '../../../lib/wire/table.ts';
import { reaperStage } from '../../support/reaper-stage.ts';

function scene() {
  const table = createMemoryTable();
  const clock = createFakeClock();
  const random = createFakeRandom();
  return {
    ...{ table, clock },
    row: () => table.rows().find(({ jobId }) => jobId === LEADER_KEY),
    reaper(
      name: string,
      options: {
        readonly settings?: Readonly<Record<string, unknown>>;
        readonly change?: (table: Table) => Partial<Table>;
        readonly clockGuard?: ClockGuard;
        readonly wakeQueue?: WakeQueue;
      } = {},
    ) {
      const { settings, change, ...more } = options;
      let queries = 0;
      const query: Table['query'] = (request) => {
        queries += 1;
        return table.query(request);
      };
      const stage = reaperStage({
        table: { ...table, query, ...change?.(table) },
        clock,
        settings: { minLeaseMs: 10_000, ...settings },
        name,
        random,
        more,
      });
      const looks = () => queries;
      const reaper = createEmbeddedReaper(stage.deps);
      const start = async () => {
        reaper.start();
        await clock.advance(0);
      };
      return { ...stage, start, stop: reaper.stop, looks };
    },
  };
}

const changesOf = (...reapers: { readonly events: readonly { readonly detail: unknown }[] }[]) =>
  reapers
    .flatMap(({ events }) =>
      events.map(({ detail }) => detail as { change?: string; leader: string; term: number }),
    )
    .filter(({ change }) => change !== undefined)
    .map(({ leader, change, term }) => `${leader} ${change} ${term}`);

describe('a reaper inside a process', () => {
  it('runs once however often it is started, leaves no timer behind, and releases its promise when it is stopped', async () => {
    const { clock, reaper, row, table } = scene();
    const { start, stop, claim } = reaper('a');
    await claim('job');
    await start();
    await start();
    await clock.advance(1000);
    expect(row()).toMatchObject({ holder: 'a', term: 1 });
    expect(clock.sleepers).toBe(1);
    await stop();
    expect(clock.sleepers).toBe(0);
    expect(row()).not.toHaveProperty('holder');
    await clock.advance(600_000);
    expect(table.rows().find(({ jobId }) => jobId === 'job')).toMatchObject({ status: 'running' });
  });

  it('sends the message of a function that can take over before it promises anything', async () => {
    const { clock, reaper, row } = scene();
    const sent: { delaySeconds: number; named: unknown }[] = [];
    const wakeQueue: WakeQueue = {
      async send(_token, delaySeconds) {
        sent.push({ delaySeconds, named: row()?.wake });
      },
    };
    const { start, stop } = reaper('a', { wakeQueue });
    await start();
    await clock.advance(1000);
    // 12 s to its own look, and then until it must have made its next promise.
    expect(sent).toEqual([{ delaySeconds: 12 + 2, named: undefined }]);
    expect(row()).toMatchObject({ holder: 'a' });
    await stop();
  });

  it('ends with the cause where no look can ever succeed, but waits for a table that was there', async () => {
    let missing = new Error('Region is missing');
    const read = async () => Promise.reject(new StoreUnavailableError('read', missing));
    const { clock, reaper } = scene();
    const misconfigured = createEmbeddedReaper(reaper('a', { change: () => ({ read }) }).deps);
    await expect(misconfigured.start()).rejects.toThrow('Region is missing');
    await misconfigured.stop();

    missing = Object.assign(new Error('no table'), { name: 'ResourceNotFoundException' });
    let isGone = false;
    const { start, stop, deps, telemetry } = reaper('b', {
      change: (table) => ({ read: (key) => (isGone ? read() : table.read(key)) }),
    });
    await start();
    isGone = true;
    await clock.advance(deps.settings.reaperIntervalMs);
    expect(telemetry.lines).toContainEqual(
      expect.objectContaining({ message: 'reaper failed; it starts again' }),
    );
    await stop();
  });

  it('starts again when a sweep fails, and sweeps although the reaper row is unreadable', async () => {
    const { clock, reaper } = scene();
    const { start, stop, claim, store, telemetry } = reaper('a', {
      change: (table) => ({
        read: (jobId) =>
          jobId === LEADER_KEY ? Promise.reject(new Error('no such row')) : table.read(jobId),
      }),
    });
    await claim('job');
    await start();
    for (let second = 0; second < 33; second++) await clock.advance(1000);
    expect(await store.read('job')).toMatchObject({ status: 'pending' });
    expect(telemetry.lines.map(({ message }) => message)).toContain('reaper failed; it starts again');
    await stop();
  });
});

describe('two reapers in processes', () => {
  it('sweep one at a time, and the second takes over when the first is stopped', async () => {
    const { clock, reaper, row } = scene();
    const [first, second] = [reaper('a'), reaper('b')];
    await first.claim('job');
    await first.start();
    await clock.advance(1000);
    await second.start();
    await clock.advance(20_000);
    expect(second.looks()).toBe(0);
    await first.stop();
    await clock.advance(12_000 + 2000);
    expect(row()).toMatchObject({ holder: 'b', term: 2 });
    expect(await second.store.read('job')).toMatchObject({ status: 'pending' });
    expect(changesOf(first, second)).toEqual(['a acquired 1', 'a released 1', 'b acquired 2']);
    await second.stop();
  });

  it('take over within half a second when the holder dies without a word', async () => {
    const { clock, reaper, row } = scene();
    const hangs =
      <A extends unknown[], R>(call: (...given: A) => Promise<R>) =>
      async (...given: A): Promise<R> =>
        clock.monotonic() > 20_000 ? new Promise<R>(() => {}) : call(...given);
    const dying = reaper('a', {
      change: ({ read, apply, query }) => ({ read: hangs(read), apply: hangs(apply), query: hangs(query) }),
    });
    const heir = reaper('b');
    await dying.claim('job');
    await dying.start();
    await heir.start();
    // Its last promise was for 22 s.
    for (let second = 0; second < 22; second++) await clock.advance(1000);
    expect(row()).toMatchObject({ holder: 'a' });
    for (let step = 0; step < 6; step++) await clock.advance(100);
    expect(row()).toMatchObject({ holder: 'b', term: 2 });
    expect(await heir.store.read('job')).toMatchObject({ status: 'pending' });
    await heir.stop();
  });

  it('leave a long sweep to its holder', async () => {
    const { clock, reaper, row } = scene();
    let slowMs = 0;
    const holder = reaper('a', {
      change: ({ query }) => ({
        query: async (request) => {
          if (slowMs > 0) await clock.sleep(slowMs);
          return query(request);
        },
      }),
    });
    const idle = reaper('b');
    await holder.start();
    await clock.advance(1000);
    await idle.start();
    slowMs = 20_000;
    for (let step = 0; step < 300; step++) await clock.advance(100);
    expect(row()).toMatchObject({ holder: 'a', term: 1 });
    expect(idle.looks()).toBe(0);
    slowMs = 0;
    await clock.advance(40_000);
    await Promise.all([holder.stop(), idle.stop()]);
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

  it('touches nothing, and comes back when its clock is right', async () => {
    const { clock, reaper } = scene();
    const clockGuard = guard();
    const { start, stop, claim, store, telemetry } = reaper('a', { clockGuard });
    await claim('job');
    await start();
    await clock.advance(1000);
    clockGuard.offsetMs = 5000;
    for (let second = 0; second < 31; second++) await clock.advance(1000);
    expect(await store.read('job')).toMatchObject({ status: 'running' });
    expect(telemetry.values('ClockOffset').at(-1)).toBe(5000);
    clockGuard.offsetMs = 0;
    await clock.advance(2000);
    expect(await store.read('job')).toMatchObject({ status: 'pending' });
    await stop();
  });

  it('stops writing in the middle of a sweep', async () => {
    const { clock, reaper, table } = scene();
    const clockGuard = guard();
    const { start, stop, claim, settings } = reaper('a', {
      clockGuard,
      change: ({ query }) => ({
        query: (request) => {
          clockGuard.offsetMs = 60_000;
          return query(request);
        },
      }),
    });
    for (let i = 0; i < 40; i++) await claim(`job-${i}`);
    await clock.advance(settings.leaseMs * 2);
    await start();
    for (let second = 0; second < 4; second++) await clock.advance(1000);
    await stop();
    expect(table.rows().filter(({ status }) => status === 'running')).toHaveLength(40);
  });
});
