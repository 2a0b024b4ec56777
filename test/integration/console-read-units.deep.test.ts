import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock, systemRandom } from '../../lib/aws/clock.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import { failedShard, pendingShard, runningShard } from '../../lib/protocol/shards.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { startConsole } from '../../lib/tools/console/start-console.ts';
import { meterCapacity } from '../support/capacity-meter.ts';
import { atDepth } from '../support/depth.ts';
import { describeOnOneEngine, dynamoDbClient } from '../support/engines.ts';
import { type JobsTable, openJobsTable } from '../support/jobs-table.ts';
import { finishedRow, jobRow } from '../support/rows.ts';

const ROWS = atDepth(1_000, 50_000);
const SECONDS = atDepth(6, 30);
const { shards } = defaultSettings;

/** A third each of failed, pending and done jobs, and 60 that run. */
function rows() {
  const now = Date.now();
  return Array.from({ length: ROWS }, (_, i) => {
    const jobId = `3f0c1d9e-7f3b-4c58-9d7a-${String(i).padStart(12, '0')}`;
    if (i < 60) {
      const times = { startedAt: now, heartbeatAt: now, leaseUntil: now + 600_000 };
      const claim = { status: 'running', attempt: 1, leaseOwner: 'host-1-aB3d/k', ...times };
      return jobRow(jobId, { ...claim, leaseShard: runningShard(jobId, shards) });
    }
    if (i % 3 === 0) return finishedRow(jobId, 'done');
    if (i % 3 === 1)
      return jobRow(jobId, { leaseShard: pendingShard(jobId, shards), leaseUntil: now + i + 6e5 });
    const failed = finishedRow(jobId, 'failed', {
      type: 'send-invoice',
      finishedAt: now - i,
      lastError: 'Error',
    });
    return { ...failed, leaseShard: failedShard(jobId, shards) };
  });
}

describeOnOneEngine('an open page of an account', ({ endpoint }) => {
  let jobs: JobsTable;
  beforeAll(async () => {
    jobs = await openJobsTable(endpoint);
    await jobs.seed(rows());
  });
  afterAll(() => jobs.close());

  it(`reads at most 20 units a second of ${ROWS.toLocaleString('en')} rows, and knows what runs`, async () => {
    const client = dynamoDbClient(endpoint);
    const meter = meterCapacity(client);
    const table = createDynamoDbTable({ client, tableName: jobs.tableName });
    const parts = { table, clock: systemClock, settings: defaultSettings };
    const store = createJobStore({ ...parts, random: systemRandom, actor: 'test' });
    const startedAt = performance.now();
    const page = await startConsole({ ...parts, store, tableName: jobs.tableName });
    page.watcher.watched(1);
    await systemClock.sleep(SECONDS * 1000);
    await expect.poll(() => page.watcher.figures().readAt, { timeout: 60_000 }).toBeDefined();
    const { counts, readUnits = 0 } = page.watcher.figures();
    const seconds = (performance.now() - startedAt) / 1000;
    const spent = meter.spent.total;
    await page.stop();
    client.destroy();
    expect(spent / seconds).toBeLessThanOrEqual(20);
    expect(counts.running).toEqual({ count: 60, complete: true });
    expect(counts.failed.count).toBeGreaterThan(0);
    // What the page says it has cost is what the engine reports, or a little more.
    expect(readUnits).toBeGreaterThanOrEqual(0.9 * spent);
    expect(readUnits).toBeLessThanOrEqual(2 * spent + 20);
  });
});
