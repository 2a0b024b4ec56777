import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../lib/aws/clock.ts';
import { createDynamoDbClient } from '../../lib/aws/dynamodb/client.ts';
import { createJobsTable } from '../../lib/aws/dynamodb/create-jobs-table.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import { describeOnEachEngine, uniqueName } from '../support/engines.ts';

describeOnEachEngine('a refused write', ({ endpoint }) => {
  const tableName = uniqueName('refused');
  const client = createDynamoDbClient({
    clock: systemClock,
    config: {
      endpoint,
      region: 'eu-west-1',
      credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    },
  });
  const table = createDynamoDbTable({ client, tableName });
  beforeAll(() => createJobsTable(client, tableName));
  afterAll(() => client.destroy());

  it('comes back with the row that refused it, nested attributes included', async () => {
    const write = {
      transition: 'complete',
      jobId: 'a',
      when: [[{ attribute: 'jobId', is: 'absent' }]],
      set: { status: 'done', attempt: 3, claim03: { owner: 'w/1', from: 1 } },
      returns: 'nothing',
    } as const;
    expect((await table.apply(write)).applied).toBe(true);
    expect(await table.apply(write)).toEqual({
      applied: false,
      row: { jobId: 'a', status: 'done', attempt: 3, claim03: { owner: 'w/1', from: 1 } },
    });
  });
});
