import { afterEach, describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '../../lib/aws/clock.ts';
import { claimOf, type RunningJob } from '../../lib/protocol/job.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { createMemoryTable } from '../../lib/testing/memory-table.ts';
import { Watcher, type WatcherOptions } from '../../lib/tools/console/watch/watcher.ts';
import { finishedRow, jobRow } from '../support/rows.ts';

const settings = resolveSettings({ shards: 1, maxRunning: 100 });
const watchers: Watcher[] = [];
afterEach(() => Promise.all(watchers.splice(0).map((watcher) => watcher.stop())));

/** A watcher that looks when it is told to, and never by itself. */
function stage(options: Partial<WatcherOptions> = {}) {
  const table = createMemoryTable();
  const clock = systemClock;
  const store = createJobStore({ table, clock, random: systemRandom, settings, actor: 'test' });
  const watch = () => {
    const rhythm = { pollMs: 1e8, idlePollMs: 0, queueEveryMs: 0, failuresEveryMs: 5_000 };
    const watcher = new Watcher({ table, store, settings, clock, ...rhythm, ...options });
    watchers.push(watcher);
    return watcher;
  };
  const claim = async (jobId: string, owner = 'w/1') => {
    const claimed = await store.claim({ job: { jobId }, owner });
    if (claimed.outcome !== 'claimed') throw new Error(claimed.outcome);
    return claimed.job;
  };
  return { table, store, watch, claim };
}

describe('the watcher', () => {
  it('knows every unfinished job, however many pages the index has', async () => {
    const { table, watch } = stage();
    for (let i = 0; i < 3_000; i++) table.put(jobRow(`p${i}`, { leaseUntil: Date.now() + 60_000 + i }));
    const watcher = watch();
    for (let look = 0; look < 4; look++) await watcher.poll();
    expect(watcher.jobs.counts).toMatchObject({ pending: 3_000 });
  });

  it('sees how a claim ended from the row that left the index', async () => {
    const { table, store, watch, claim } = stage();
    table.put(jobRow('a'));
    const watcher = watch();
    const job = await claim('a');
    await watcher.poll();
    await store.complete(claimOf(job), 'fine');
    await watcher.poll();
    expect(watcher.jobs.get('a')).toMatchObject({ status: 'done', attempt: 1 });
    expect(watcher.jobs.counts).toEqual({ pending: 0, running: 0, done: 1, failed: 0, cancelled: 0 });
  });

  it('measures a reclaim from the lease end it saw to the reclaim in the row, even if the next claim came in between', async () => {
    const { table, watch, claim } = stage();
    table.put(jobRow('a'));
    const watcher = watch();
    const job = await claim('a');
    await watcher.poll();
    const to = job.leaseUntil + 700;
    const lapse = { attempt: 1, owner: 'w/1', from: job.startedAt, to, outcome: 'lapsed' };
    const row = table.rows()[0] as unknown as RunningJob;
    table.put({ ...row, attempt: 2, crashes: 1, leaseOwner: 'w/2', claim01: lapse });
    await watcher.poll();
    expect(watcher.trend.lastHour(to)).toMatchObject({ reclaimed: 1, reclaimDelayMs: 700 });
    expect(watcher.jobs.get('a')).toMatchObject({ status: 'running', attempt: 2, crashes: 1 });
  });

  it('is not led back by an index entry older than the row it read', async () => {
    const { table, store, watch, claim } = stage();
    table.put(jobRow('a'));
    const watcher = watch();
    const job = await claim('a');
    const stale = table.rows()[0] ?? {};
    await store.complete(claimOf(job), 1);
    await watcher.poll();
    watcher.jobs.takeRow((await store.read('a')) as never);
    watcher.jobs.takeEntry({ ...(stale as never as RunningJob), notBefore: 0, dispatches: 0 });
    expect(watcher.jobs.get('a')?.status).toBe('done');
  });

  it('is not led back to an earlier attempt', async () => {
    const { table, store, watch, claim } = stage();
    table.put(jobRow('a'));
    const job = await claim('a');
    const stale = table.rows()[0] ?? {};
    const dispatch = { notBefore: 0, leaseUntil: Date.now() + 60_000, dispatches: 1 };
    await store.release(claimOf(job), { errors: 0, releases: 1, dispatch });
    await claim('a', 'w/2');
    const watcher = watch();
    await watcher.poll();
    watcher.jobs.takeEntry({ ...(stale as never as RunningJob), notBefore: 0, dispatches: 0 });
    expect(watcher.jobs.get('a')).toMatchObject({ attempt: 2, leaseOwner: 'w/2' });
  });

  it('notices that a finished job was revived elsewhere', async () => {
    const { table, store, watch } = stage();
    table.put(finishedRow('a', 'failed', { errors: 5 }));
    const watcher = watch();
    watcher.jobs.takeRow((await store.read('a')) as never);
    await store.revive('a');
    await watcher.poll();
    expect(watcher.jobs.get('a')).toMatchObject({ status: 'pending', errors: 0 });
  });

  it('forgets a job whose row is gone', async () => {
    const { table, watch } = stage();
    table.put(jobRow('a'));
    const watcher = watch();
    await watcher.poll();
    table.put({ ...finishedRow('a', 'done'), expiresAt: 1 });
    await watcher.poll();
    expect(watcher.jobs.get('a')).toBeUndefined();
  });

  it('lists failures from their index without a scan', async () => {
    const { table, watch } = stage();
    table.put(jobRow('known', { type: 'resize' }));
    table.put(finishedRow('lost', 'failed', { type: 'resize', lastError: 'boom' }));
    const watcher = watch();
    await watcher.poll();
    await expect.poll(() => watcher.jobs.get('lost')).toMatchObject({ status: 'failed', lastError: 'boom' });
  });

  it('counts jobs of other processes that start and finish between two looks, and all of a table beyond what it lists', async () => {
    const { table, watch } = stage({
      ...{ pollMs: 10, rescans: true },
      scan: async () => ({ rows: table.rows() }),
    });
    const watcher = watch();
    watcher.watched(1);
    await expect.poll(() => watcher.figures().counts.done).toEqual({ count: 0, complete: true });
    for (let i = 0; i < 20_500; i++)
      table.put(finishedRow(`theirs-${i}`, 'done', { leaseOwner: 'laptop-77-x/1' }));
    await expect
      .poll(() => watcher.figures().counts.done, { timeout: 30_000 })
      .toEqual({ count: 20_500, complete: true });
  });

  it('continues after an unreadable row', async () => {
    const problems: unknown[] = [];
    const { table, watch } = stage({ onProblem: (error) => problems.push(error) });
    table.put(jobRow('bad', { attempt: 'three' }));
    table.put(jobRow('good'));
    const watcher = watch();
    await watcher.poll();
    expect(watcher.jobs.get('good')).toBeDefined();
    watcher.note('bad');
    await expect.poll(() => problems.length).toBeGreaterThan(0);
  });
});
