import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../lib/aws/clock.ts';
import { createDynamoDbClient } from '../../lib/aws/dynamodb/client.ts';
import { createTableInspection, type TableInspection } from '../../lib/aws/dynamodb/table-inspection.ts';
import { StoreUnavailableError } from '../../lib/protocol/errors.ts';
import type { Cursor } from '../../lib/protocol/ports.ts';
import { byLease } from '../../lib/wire/table.ts';
import { describeOnEachEngine, local } from '../support/engines.ts';
import { type JobsTable, openJobsTable } from '../support/jobs-table.ts';
import { row } from '../support/rows.ts';

describeOnEachEngine('an operator’s look at the whole table', (engine) => {
  let jobs: JobsTable;
  let inspection: TableInspection;
  const ids = Array.from({ length: 7 }, (_, i) => `job-${i}`);

  beforeAll(async () => {
    jobs = await openJobsTable(engine.endpoint);
    inspection = createTableInspection({ client: jobs.client, tableName: jobs.tableName });
    for (const [i, jobId] of ids.entries())
      await jobs.put(row({ jobId, status: i < 3 ? 'failed' : 'pending' }));
  });
  afterAll(() => jobs.close());

  it('passes every row once, page by page', async () => {
    const seen: unknown[] = [];
    let cursor: Cursor | undefined;
    do {
      const page = await inspection.scan({ limit: 3, cursor });
      expect(page.rows.length).toBeLessThanOrEqual(3);
      seen.push(...page.rows.map(({ jobId }) => jobId));
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(seen.sort()).toEqual(ids);
  });

  it('returns rows of one status, whole', async () => {
    const { rows, cursor } = await inspection.scan({ status: 'failed' });
    expect(cursor).toBeUndefined();
    expect(rows.map(({ jobId, status }) => `${jobId} ${status}`).sort()).toEqual(
      ids.slice(0, 3).map((id) => `${id} failed`),
    );
    expect(rows[0]).toMatchObject({ type: expect.any(String), attempt: expect.any(Number) });
  });

  it('describes what was created', async () => {
    const { status, indexes } = await inspection.describe();
    expect(status).toBe('ACTIVE');
    const named = (name: string) => indexes.find((index) => index.name === name);
    for (const index of [byLease])
      expect(named(index.name)).toEqual({
        name: index.name,
        partitionKey: index.partitionKey.name,
        sortKey: index.sortKey.name,
        projects: expect.arrayContaining([...index.projects]),
      });
  });

  it('says which request failed on a table that is not there', async () => {
    const client = createDynamoDbClient({
      clock: systemClock,
      config: { ...local, endpoint: engine.endpoint, maxAttempts: 1 },
    });
    const absent = createTableInspection({ client, tableName: 'absent' });
    for (const [name, look] of [
      ['Scan', () => absent.scan({})],
      ['DescribeTable', () => absent.describe()],
    ] as const) {
      const error = await look().catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(StoreUnavailableError);
      expect((error as Error).message).toContain(name);
    }
    client.destroy();
  });
});
