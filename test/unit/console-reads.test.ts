import { afterEach, describe, expect, it } from 'vitest';
import { systemChance } from '../../lib/aws/clock.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { createHandClock } from '../../lib/testing/hand-clock.ts';
import { createMemoryTable } from '../../lib/testing/memory-table.ts';
import { Watcher, type WatcherOptions } from '../../lib/tools/console/watcher.ts';
import { finishedRow, jobRow } from '../support/rows.ts';

const SHARDS = 4;
const settings = resolveSettings({ shards: SHARDS, maxRunning: 100 });
const watchers: Watcher[] = [];
afterEach(() => Promise.all(watchers.splice(0).map((watcher) => watcher.stop())));

/** A console's watcher as in an account, on a table that counts what is asked of it. It looks when it is told to. */
async function stage(options: Partial<WatcherOptions> = {}) {
  const asked = { query: 0, count: 0, read: 0, queue: 0 };
  const memory = createMemoryTable();
  const clock = createHandClock(Date.now());
  const counting = (verb: 'query' | 'count' | 'read') => {
    const own = memory[verb] as (request: unknown) => Promise<never>;
    return (request: unknown) => {
      asked[verb] += 1;
      return own(request);
    };
  };
  const table = { ...memory, query: counting('query'), count: counting('count'), read: counting('read') };
  const store = createJobStore({ table, clock, chance: systemChance, settings, actor: 'test' });
  const watch = async () => {
    const watcher = new Watcher({
      ...{ table, store, settings, clock, pollMs: 1e8, idlePollMs: 0 },
      ...{ queueEveryMs: 10_000, failuresEveryMs: 5_000 },
      queueDepth: async () => {
        asked.queue += 1;
        return { visible: 7, inFlight: 1, delayed: 0 };
      },
      ...options,
    });
    watchers.push(watcher);
    // It looks once by itself when it starts.
    await expect.poll(() => watcher.figures().readAt).toBeDefined();
    return watcher;
  };
  /** What one look costs, so much later. */
  const lookAfter = async (watcher: Watcher, ms: number) => {
    Object.assign(asked, { query: 0, count: 0, read: 0, queue: 0 });
    clock.advance(ms);
    await watcher.poll();
    return { ...asked };
  };
  return { memory, asked, watch, lookAfter };
}

describe('what a console in an account reads', () => {
  it('is two queries a shard every look, one more for failures every 5 s, and the queue every 10 s', async () => {
    const { asked, watch, lookAfter } = await stage();
    const watcher = await watch();
    expect(asked).toEqual({ query: 3 * SHARDS, count: SHARDS, read: 0, queue: 1 });
    expect(await lookAfter(watcher, 2_000)).toEqual({ query: 2 * SHARDS, count: 0, read: 0, queue: 0 });
    expect(await lookAfter(watcher, 2_999)).toMatchObject({ query: 2 * SHARDS });
    expect(await lookAfter(watcher, 1)).toMatchObject({ query: 3 * SHARDS, count: 0, queue: 0 });
    expect(await lookAfter(watcher, 5_000)).toEqual({ query: 3 * SHARDS, count: 0, read: 0, queue: 1 });
    expect(await lookAfter(watcher, 49_999)).toMatchObject({ count: 0 });
    expect(await lookAfter(watcher, 5_001)).toMatchObject({ count: SHARDS });
  });

  it('is each failed row once, 100 a look at most, and older failures only when they are asked for', async () => {
    const { memory, asked, watch, lookAfter } = await stage();
    for (let i = 0; i < 450; i++)
      memory.put({
        ...finishedRow(`f-${i}`, 'failed', { finishedAt: 1e12 + i }),
        leaseShard: `f${i % SHARDS}`,
      });
    const watcher = await watch();
    expect(asked.read).toBe(100);
    expect(watcher.figures()).toMatchObject({
      counts: { failed: { count: 450, complete: true }, done: { count: 0, complete: false } },
      moreFailures: true,
    });
    expect(await lookAfter(watcher, 2_000)).toMatchObject({ read: 100 });
    expect(await lookAfter(watcher, 2_000)).toMatchObject({ read: 0 });
    expect([...watcher.jobs.all()].map(({ jobId }) => jobId).sort()).toEqual(
      Array.from({ length: 200 }, (_, i) => `f-${250 + i}`).sort(),
    );
    await watcher.moreFailures();
    await watcher.moreFailures();
    for (let i = 0; i < 4; i++) await lookAfter(watcher, 2_000);
    expect(watcher.jobs.counts.failed).toBe(450);
    expect(watcher.figures().moreFailures).toBe(false);
  });

  it('is nothing while nobody watches', async () => {
    const { memory, asked, watch } = await stage({ pollMs: 10 });
    memory.put(jobRow('a'));
    const watcher = await watch();
    watcher.watched(1);
    await expect.poll(() => asked.query).toBeGreaterThan(6 * SHARDS);
    watcher.watched(-1);
    // A look that has begun goes on to its end.
    await new Promise((resolve) => setTimeout(resolve, 50));
    const before = asked.query;
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(asked.query).toBe(before);
  });

  it('is told to be unknown where it fails: the queue alone, or everything', async () => {
    let isBroken = false;
    const { memory, watch, lookAfter } = await stage({
      queueDepth: async () => {
        if (isBroken) throw new Error('AccessDenied');
        return { visible: 7, inFlight: 1, delayed: 0 };
      },
    });
    const watcher = await watch();
    expect(watcher.figures()).toMatchObject({ queue: { visible: 7 } });
    isBroken = true;
    await lookAfter(watcher, 10_000);
    expect(watcher.figures()).toMatchObject({ queue: undefined, problem: undefined });
    expect(memory.rows()).toEqual([]);
  });
});
