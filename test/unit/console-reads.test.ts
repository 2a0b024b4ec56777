import { afterEach, describe, expect, it } from 'vitest';
import { systemRandom } from '../../lib/aws/clock.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { createFakeClock } from '../../lib/testing/fake-clock.ts';
import { createMemoryTable } from '../../lib/testing/memory-table.ts';
import { Watcher, type WatcherOptions } from '../../lib/tools/console/watch/watcher.ts';
import { finishedRow } from '../support/rows.ts';

const SHARDS = 4;
const settings = resolveSettings({ shards: SHARDS, maxRunning: 100 });
const watchers: Watcher[] = [];
afterEach(() => Promise.all(watchers.splice(0).map((watcher) => watcher.stop())));

/** A console's watcher as in an account, on a table that counts what is asked of it. It looks when it is told to. */
async function stage(options: Partial<WatcherOptions> = {}) {
  const asked = { query: 0, count: 0, read: 0, queue: 0 };
  const memory = createMemoryTable();
  const clock = createFakeClock(Date.now());
  const counting = (verb: 'query' | 'count' | 'read') => {
    const own = memory[verb] as (request: unknown) => Promise<never>;
    return (request: unknown) => {
      asked[verb] += 1;
      return own(request);
    };
  };
  const table = { ...memory, query: counting('query'), count: counting('count'), read: counting('read') };
  const store = createJobStore({ table, clock, random: systemRandom, settings, actor: 'test' });
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
  it('is two queries a shard every look, one more for failures every 5 s, and queue, reaper and controls every 10 s', async () => {
    const { asked, watch, lookAfter } = await stage();
    const watcher = await watch();
    // The failed shards are walked two a look at first, and again after five minutes.
    expect(asked).toEqual({ query: 3 * SHARDS + 2, count: 0, read: 2, queue: 1 });
    expect(await lookAfter(watcher, 2_000)).toEqual({ query: 2 * SHARDS + 2, count: 0, read: 0, queue: 0 });
    expect(watcher.figures().counts.failed).toEqual({ count: 0, complete: true });
    expect(await lookAfter(watcher, 2_999)).toMatchObject({ query: 2 * SHARDS });
    expect(await lookAfter(watcher, 1)).toMatchObject({ query: 3 * SHARDS, queue: 0 });
    expect(await lookAfter(watcher, 5_000)).toEqual({ query: 3 * SHARDS, count: 0, read: 2, queue: 1 });
    expect(await lookAfter(watcher, 291_998)).toMatchObject({ query: 3 * SHARDS });
    expect(await lookAfter(watcher, 5_000)).toMatchObject({ query: 3 * SHARDS + 2 });
  });

  it('is every failure by type from the index, with the rows of the newest 200', async () => {
    const { memory, watch, lookAfter } = await stage();
    const failed = (jobId: string, type: string, finishedAt: number) => {
      const leaseShard = `f${finishedAt % SHARDS}`;
      memory.put({ ...finishedRow(jobId, 'failed', { type, finishedAt }), leaseShard });
    };
    for (let i = 0; i < 658; i++) failed(`old-${i}`, 'send-invoice', 1e12 + i);
    for (let i = 0; i < 200; i++) failed(`new-${i}`, 'resize', 1e12 + 1e6 + i);
    const watcher = await watch();
    expect(watcher.figures().counts.failed.complete).toBe(false);
    for (let i = 0; i < 4; i++) await lookAfter(watcher, 2_000);
    expect(watcher.figures()).toMatchObject({
      counts: { failed: { count: 858, complete: true }, done: { count: 0, complete: false } },
      failedByType: { 'send-invoice': 658, resize: 200 },
    });
    const unread = [...watcher.jobs.all()].filter(({ isErrorUnread }) => isErrorUnread);
    expect(unread).toHaveLength(658);
    expect(unread[0]).toMatchObject({ type: 'send-invoice', status: 'failed' });
    await watcher.readRows(unread.slice(0, 3).map(({ jobId }) => jobId));
    expect([...watcher.jobs.all()].filter(({ isErrorUnread }) => isErrorUnread)).toHaveLength(655);
  });

  it('counts the messages of all pools together', async () => {
    const pool = (name: string, visible: number, delayed: number) => ({
      ...{ name, queueUrl: name, types: [], running: { count: 0, complete: true } },
      queue: { visible, inFlight: 1, delayed },
    });
    const absent = { ...pool('gone', 0, 0), queue: undefined, isAbsent: true };
    const { watch } = await stage({
      poolsOf: async () => [pool('default', 7, 0), pool('render', 3, 2), absent],
    });
    expect((await watch()).figures().queue).toEqual({ visible: 10, inFlight: 2, delayed: 2 });
  });
});
