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

  it('notices that a finished job was revived elsewhere', async () => {
    const { table, store, watch } = stage();
    table.put(finishedRow('a', 'failed', { errors: 5 }));
    const watcher = watch();
    watcher.jobs.takeRow((await store.read('a')) as never);
    await store.revive('a');
    await watcher.poll();
    expect(watcher.jobs.get('a')).toMatchObject({ status: 'pending', errors: 0 });
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
