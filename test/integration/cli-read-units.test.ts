import { afterAll, beforeAll, expect, it } from 'vitest';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import { createTableInspection } from '../../lib/aws/dynamodb/table-inspection.ts';
import { listJobs } from '../../lib/client/list-jobs.ts';
import { scanCostOf } from '../../lib/client/scan-cost.ts';
import { failedShard } from '../../lib/protocol/shards.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { type CapacityMeter, meterCapacity } from '../support/capacity-meter.ts';
import { describeOnEachEngine, dynamoDbClient } from '../support/engines.ts';
import { type JobsTable, openJobsTable } from '../support/jobs-table.ts';
import { row } from '../support/rows.ts';

const JOBS = 200;

describeOnEachEngine('the read units that listings name', ({ endpoint }) => {
  let jobs: JobsTable;
  let meter: CapacityMeter;
  const { shards } = defaultSettings;
  const open = () => {
    const client = dynamoDbClient(endpoint);
    meter = meterCapacity(client);
    const { tableName } = jobs;
    return {
      table: createDynamoDbTable({ client, tableName }),
      inspection: createTableInspection({ client, tableName }),
      settings: defaultSettings,
    };
  };
  beforeAll(async () => {
    jobs = await openJobsTable(endpoint);
    await jobs.seed(
      Array.from({ length: JOBS }, (_, n) => {
        const jobId = `3f0c1d9e-7f3b-4c58-9d7a-${String(n).padStart(12, '0')}`;
        const at = 1_800_000_000_000 + n;
        return row({
          ...{ jobId, type: 'send-invoice', status: 'failed', lastError: 'Error: no such mailbox' },
          ...{ finishedAt: at, leaseUntil: at, leaseShard: failedShard(jobId, shards) },
        });
      }),
    );
  });
  afterAll(() => jobs.close());

  it('of a scan are what the engine reports', async () => {
    const parts = open();
    const { readUnits } = await scanCostOf(parts);
    meter.reset();
    const listed = await listJobs(parts, { status: 'failed', scan: true, limit: JOBS });
    expect(listed.jobs).toHaveLength(JOBS);
    const reported = meter.units.Scan ?? 0;
    // dynoxide does not tell the size of a table: then the most that the rows can have is told.
    const most = (await parts.inspection.describe()).bytes === 0 ? 4 * reported : 1.1 * reported;
    expect(readUnits).toBeGreaterThanOrEqual(0.9 * reported);
    expect(readUnits).toBeLessThanOrEqual(most);
  });

  it('of a list of failures are half a unit a shard, and one for each row that is shown', async () => {
    const parts = open();
    const listed = await listJobs(parts, { status: 'failed', limit: 20 });
    expect(listed.jobs).toHaveLength(20);
    expect(meter.units).toEqual({ Query: shards / 2, BatchGetItem: 20 });
  });
});
