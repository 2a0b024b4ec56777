import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll } from 'vitest';
import { toItem } from '../../lib/aws/dynamodb/attributes.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import type { Table } from '../../lib/protocol/ports.ts';
import { describeJobStore } from '../contract/job-store.ts';

/** On AWS the index lags: reads of it wait so long after the last write. */
const SETTLED_MS = 1500;

const client = new DynamoDBClient({});
const tableName = process.env.REHEARSAL_CONTRACT_TABLE ?? '';
afterAll(() => client.destroy());

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
