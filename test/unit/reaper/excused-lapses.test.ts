import { describe, expect, it } from 'vitest';
import type { CountQuery, Table } from '../../../lib/protocol/ports.ts';
import { createReaperPlace } from '../../../lib/protocol/store/reaper-row.ts';
import { sweep } from '../../../lib/reaper/sweep.ts';
import { createSweepMemory } from '../../../lib/reaper/sweep-memory.ts';
import { type WatchResult, watch } from '../../../lib/reaper/watch.ts';
import type { Settings } from '../../../lib/settings/settings.ts';
import { createHandClock } from '../../../lib/testing/hand-clock.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { newJob } from '../../support/jobs.ts';
import { reaperStage } from '../../support/reaper-stage.ts';

const stage = (settings: Partial<Settings> = {}) => {
  const memoryTable = createMemoryTable();
  const clock = createHandClock();
  const counts: CountQuery[] = [];
  let isDown = false;
  /** What gets no answer for now. */
  let hanging: 'everything' | 'read' | 'releaseLead' | undefined;
  let troubled: string | undefined;
  const up = async (what?: string) => {
    while (hanging !== undefined && (hanging === 'everything' || hanging === what)) await clock.sleep(100);
    if (isDown) throw new Error('the store is out of reach');
  };
  const table: Table = {
    ...memoryTable,
    async count(request) {
      await up();
      counts.push(request);
      return memoryTable.count(request);
    },
    async query(request) {
      await up();
      if (request.partition === troubled) throw new Error('this shard is out of reach');
      return memoryTable.query(request);
    },
    async read(jobId) {
      await up('read');
      return memoryTable.read(jobId);
    },
    async apply(write) {
      await up(write.transition);
      return memoryTable.apply(write);
    },
    async applyMany(writes) {
      await up();
      return memoryTable.applyMany(writes);
    },
  };
  const set = reaperStage({ table, clock, settings: { leaseMs: 10_000, minLeaseMs: 10_000, ...settings } });
  const memory = createSweepMemory(set.deps);
  let claims = 0;
  return {
    ...set,
    ...{ clock, counts, memory },
    async claim(host: string, count: number) {
      for (let i = 0; i < count; i++) {
        const job = newJob(`${host}-${claims}`, { leaseMs: set.settings.leaseMs });
        await set.store.claim({ job, owner: `${host}/${++claims}` });
      }
    },
    down(is: boolean) {
      isDown = is;
    },
    hang(what?: typeof hanging) {
      hanging = what;
    },
    trouble(shard?: string) {
      troubled = shard;
    },
    lapse: () => clock.advance(set.settings.leaseMs + set.settings.skewMs + set.settings.graceMs),
    async causes() {
      const jobs = await Promise.all(memoryTable.rows().map(({ jobId }) => set.store.read(String(jobId))));
      return jobs.flatMap((job) => job?.claims.map(({ cause }) => cause) ?? []);
    },
    charges: () =>
      memoryTable
        .rows()
        .filter((row) => row.status === 'pending')
        .map(({ crashes, releases }) => ({ crashes, releases })),
  };
};

const CHARGED = { crashes: 1, releases: 0 };
const EXCUSED = { crashes: 0, releases: 1 };

describe('lapses of one sweep', () => {
  it('are excused where they are of two hosts and more than are live', async () => {
    const { claim, lapse, deps, memory, charges, causes } = stage();
    await claim('a', 2);
    await claim('b', 1);
    await lapse();
    await claim('c', 2);
    await sweep(deps, { memory });
    expect(charges()).toEqual([EXCUSED, EXCUSED, EXCUSED]);
    expect(new Set(await causes())).toContain('not charged: many leases lapsed together');
  });

  it('are charged where as many are live', async () => {
    const { claim, lapse, deps, memory, charges } = stage();
    await claim('a', 2);
    await claim('b', 1);
    await lapse();
    await claim('c', 3);
    await sweep(deps, { memory });
    expect(charges()).toEqual([CHARGED, CHARGED, CHARGED]);
  });

  it('are charged where they are of one host, and then nothing is counted', async () => {
    const { claim, lapse, deps, memory, charges, counts } = stage();
    await claim('a', 3);
    await lapse();
    await sweep(deps, { memory });
    expect(charges()).toEqual([CHARGED, CHARGED, CHARGED]);
    expect(counts).toEqual([]);
  });

  it('are excused where the reaper missed the sweep that was promised', async () => {
    const { claim, lapse, deps, memory, charges, causes } = stage();
    await claim('a', 1);
    await lapse();
    await sweep(deps, { memory, missedSweep: true });
    expect(charges()).toEqual([EXCUSED]);
    expect(await causes()).toEqual(['not charged: the reaper was late']);
  });
});

describe('leases that end as the reaper gets through again', () => {
  /** A lease of 10 s that ends so long after the sweep that came late. */
  const endingAfterLateSweep = async (ms: number) => {
    const set = stage();
    const { claim, clock, settings, deps, memory, lapse, charges } = set;
    await claim('a', 1);
    await clock.advance(settings.leaseMs - ms);
    await sweep(deps, { memory, missedSweep: true });
    await lapse();
    await sweep(deps, { memory });
    return charges();
  };

  it('are excused though they lapse in a later sweep, for as long as a worker may need to get through', async () => {
    expect(await endingAfterLateSweep(0)).toEqual([EXCUSED]);
    expect(await endingAfterLateSweep(3000)).toEqual([EXCUSED]);
  });

  it('are charged where their worker had time to beat', async () => {
    expect(await endingAfterLateSweep(3001)).toEqual([CHARGED]);
  });
});

describe('lapses that follow one another', () => {
  it('count as one event within a lease, and not beyond it', async () => {
    const { claim, clock, settings, deps, memory, charges } = stage();
    await claim('a', 1);
    await clock.advance(1000);
    await claim('b', 1);
    await clock.advance(settings.leaseMs + settings.skewMs + settings.graceMs - 1000);
    await sweep(deps, { memory });
    // Only one host's has lapsed so far.
    expect(charges()).toEqual([CHARGED]);
    await clock.advance(1000);
    await sweep(deps, { memory });
    expect(charges()).toEqual([CHARGED, EXCUSED]);
    await claim('c', 1);
    await clock.advance(2 * settings.leaseMs);
    await sweep(deps, { memory });
    expect(charges()).toEqual([CHARGED, EXCUSED, CHARGED]);
  });
});

describe('a store that is out of reach for 16 s, with leases of 10 s', () => {
  it.each([
    ['as one ends', 1],
    ['shortly before the store is back', 14],
  ])('is charged to nobody where the next watch begins meanwhile: %s', async (_, after) => {
    const { claim, clock, deps, down, charges } = stage();
    const watchFor = (ms: number, before?: WatchResult) =>
      watch(deps, { deadlineAt: clock.now() + ms, before });
    const first = watchFor(4000 + after * 1000);
    await clock.advance(3000);
    await claim('a', 5);
    await clock.advance(1000);
    down(true);
    for (let second = 0; second < after; second++) await clock.advance(1000);
    await clock.advance(1);
    const next = watchFor(30_000, await first);
    for (let second = after; second < 16; second++) await clock.advance(1000);
    down(false);
    for (let second = 0; second < 10; second++) await clock.advance(1000);
    expect(charges()).toEqual(Array.from({ length: 5 }, () => EXCUSED));
    for (let second = 0; second < 20; second++) await clock.advance(1000);
    await next;
  });

  it('is charged to nobody, be it one host or two', async () => {
    for (const hosts of [['a'], ['a', 'b']]) {
      const { claim, clock, deps, down, charges } = stage();
      const stopping = new AbortController();
      const watching = watch(deps, { deadlineAt: clock.now() + 100_000, signal: stopping.signal });
      await clock.advance(3000);
      for (const host of hosts) await claim(host, 5);
      await clock.advance(1000);
      down(true);
      for (let second = 0; second < 16; second++) await clock.advance(1000);
      down(false);
      for (let second = 0; second < 10; second++) await clock.advance(1000);
      expect(charges()).toEqual(hosts.flatMap(() => Array.from({ length: 5 }, () => EXCUSED)));
      stopping.abort();
      await clock.advance(1000);
      await watching;
    }
  });
});

describe('a store that is out of reach for 4 s as leases of 10 s end', () => {
  it('is charged to nobody: the reaper could not look, though it was not late for long', async () => {
    const { claim, clock, deps, down, charges } = stage();
    const stopping = new AbortController();
    const watching = watch(deps, { deadlineAt: clock.now() + 100_000, signal: stopping.signal });
    await clock.advance(3000);
    await claim('a', 3);
    for (let second = 0; second < 8; second++) await clock.advance(1000);
    down(true);
    for (let second = 0; second < 4; second++) await clock.advance(1000);
    down(false);
    for (let second = 0; second < 10; second++) await clock.advance(1000);
    expect(charges()).toEqual([EXCUSED, EXCUSED, EXCUSED]);
    stopping.abort();
    await clock.advance(1000);
    await watching;
  });
});

describe('a store that does not answer for 7 s as leases of 10 s end', () => {
  it('is charged to nobody: a look that hangs until it is answered was late, though nothing failed', async () => {
    const { claim, clock, deps, hang, charges } = stage();
    const stopping = new AbortController();
    const watching = watch(deps, { deadlineAt: clock.now() + 100_000, signal: stopping.signal });
    await clock.advance(3000);
    await claim('a', 3);
    for (let second = 0; second < 8; second++) await clock.advance(1000);
    hang('everything');
    for (let second = 0; second < 7; second++) await clock.advance(1000);
    hang();
    for (let second = 0; second < 10; second++) await clock.advance(1000);
    expect(charges()).toEqual([EXCUSED, EXCUSED, EXCUSED]);
    stopping.abort();
    await clock.advance(1000);
    await watching;
  });
});

describe('a store that does not answer for 4 s as one watch follows another, with leases of 10 s', () => {
  it.each([
    ['the first looks for the last time', 'everything'],
    ['the first gives up its lead', 'releaseLead'],
    ['the second reads what is left', 'read'],
  ] as const)('is charged to nobody, where %s', async (_, what) => {
    // The first looks at 0, 4 and 8 s.
    const { claim, clock, deps, hang, charges } = stage({ leaderLeaseMs: 5000 });
    await claim('a', 3);
    const first = watch(deps, { deadlineAt: clock.now() + 10_000 });
    const both = first.then((before) => watch(deps, { deadlineAt: clock.now() + 10_000, before }));
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 100) await clock.advance(100);
    };
    await pass(7900);
    hang(what);
    await pass(4000);
    hang();
    await pass(20_000);
    await both;
    expect(charges()).toEqual([EXCUSED, EXCUSED, EXCUSED]);
  });
});

describe('a shard that is out of reach for 40 s, with leases of 10 s', () => {
  it('is charged to nobody, though the others are read all the while', async () => {
    const { claim, clock, deps, store, trouble, charges } = stage();
    const stopping = new AbortController();
    const watching = watch(deps, { deadlineAt: clock.now() + 100_000, signal: stopping.signal });
    await clock.advance(3000);
    await claim('a', 1);
    const job = await store.read('a-0');
    await clock.advance(1000);
    trouble(job?.status === 'running' ? job.leaseShard : undefined);
    for (let second = 0; second < 40; second++) await clock.advance(1000);
    trouble();
    for (let second = 0; second < 20; second++) await clock.advance(1000);
    expect(charges()).toEqual([EXCUSED]);
    stopping.abort();
    await clock.advance(1000);
    await watching;
  });
});

describe('a reaper that has not been late', () => {
  it('charges a lapse where it takes over from a leader that swept until then', async () => {
    const { claim, clock, deps, charges, store } = stage({ leaderLeaseMs: 5000 });
    const stopping = new AbortController();
    const first = watch({ ...deps, name: 'first' }, { deadlineAt: clock.now() + 40_000 });
    await clock.advance(0);
    const second = watch(
      { ...deps, name: 'second' },
      { deadlineAt: clock.now() + 100_000, signal: stopping.signal },
    );
    for (let passed = 0; passed < 29_000; passed += 100) await clock.advance(100);
    await claim('a', 1);
    for (let passed = 0; passed < 20_000; passed += 100) await clock.advance(100);
    expect(charges()).toEqual([CHARGED]);
    stopping.abort();
    await clock.advance(1000);
    await Promise.all([first, second]);
    expect(await store.read('a-0')).toMatchObject({ crashes: 1 });
  });

  it('charges a lapse in the second watch of a process, though a chain of days ago has left its promise', async () => {
    const { claim, clock, deps, charges } = stage();
    await createReaperPlace(deps).arm(
      { wake: 'old', wakeAt: clock.now() - 86_400_000, gaugedAt: 0 },
      undefined,
    );
    const first = watch(deps, { deadlineAt: clock.now() + 20_000 });
    for (let passed = 0; passed < 12_000; passed += 100) await clock.advance(100);
    await claim('a', 1);
    for (let passed = 0; passed < 8000; passed += 100) await clock.advance(100);
    const second = first.then((before) => watch(deps, { deadlineAt: clock.now() + 20_000, before }));
    for (let passed = 0; passed < 25_000; passed += 100) await clock.advance(100);
    await second;
    expect(charges()).toEqual([CHARGED]);
  });
});

describe('a store that fails at once at the very end of a watch, and is back for the next', () => {
  it('is charged to nobody', async () => {
    const { claim, clock, deps, down, charges } = stage();
    await claim('a', 2);
    const first = watch(deps, { deadlineAt: clock.now() + 12_500 });
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 100) await clock.advance(100);
    };
    await pass(9000);
    down(true);
    await pass(3600);
    const before = await first;
    down(false);
    const second = watch(deps, { deadlineAt: clock.now() + 20_000, before });
    await pass(21_000);
    await second;
    expect(charges()).toEqual([EXCUSED, EXCUSED]);
  });
});
