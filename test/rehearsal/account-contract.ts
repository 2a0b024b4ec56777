import { setTimeout as sleep } from 'node:timers/promises';
import {
  DeleteTableCommand,
  DynamoDBClient,
  PutItemCommand,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { afterAll } from 'vitest';
import { toItem } from '../../lib/aws/dynamodb/attributes.ts';
import { createJobsTable } from '../../lib/aws/dynamodb/create-jobs-table.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import type { Table } from '../../lib/protocol/ports.ts';
import { describeJobStore } from '../contract/job-store.ts';

/** The index is behind the table on AWS: whoever reads it waits so long after the last write. */
const SETTLED_MS = 1500;

const client = new DynamoDBClient({});
const tableName = `leasehold-rehearsal-${Date.now()}`;
let created: Promise<void> | undefined;
const create = async () => {
  await createJobsTable(client, tableName);
  await waitUntilTableExists({ client, maxWaitTime: 300 }, { TableName: tableName });
};
afterAll(async () => {
  await client.send(new DeleteTableCommand({ TableName: tableName }));
  client.destroy();
}, 60_000);

let writtenAt = 0;
const wrote =
  <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
  async (...args: A): Promise<R> => {
    const result = await call(...args);
    writtenAt = Date.now();
    return result;
  };
const settled =
  <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
  async (...args: A): Promise<R> => {
    await sleep(Math.max(0, writtenAt + SETTLED_MS - Date.now()));
    return call(...args);
  };

describeJobStore(
  async (batches) => {
    created ??= create();
    await created;
    const table = createDynamoDbTable({ client, tableName, batches });
    const patient: Table = {
      ...table,
      apply: wrote(table.apply),
      applyMany: wrote(table.applyMany),
      query: settled(table.query),
      count: settled(table.count),
    };
    const put = wrote(async (row: Readonly<Record<string, unknown>>) => {
      await client.send(new PutItemCommand({ TableName: tableName, Item: toItem(row) }));
    });
    return { table: patient, put };
  },
  { rounds: 3, claimants: 16 },
);
