import { DeleteTableCommand, type DynamoDBClient, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { systemClock } from '../../lib/aws/clock.ts';
import { toItem } from '../../lib/aws/dynamodb/attributes.ts';
import { createDynamoDbClient } from '../../lib/aws/dynamodb/client.ts';
import { createJobsTable } from '../../lib/aws/dynamodb/create-jobs-table.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import type { Table } from '../../lib/protocol/ports.ts';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import { local, uniqueName } from './engines.ts';

/** A jobs table of a suite's own on an engine, reached directly or through a proxy. */
export interface JobsTable {
  readonly tableName: string;
  readonly client: DynamoDBClient;
  /** The table, by another endpoint or another way of writing many rows where given. */
  at(options?: {
    readonly endpoint?: string;
    readonly batches?: boolean;
    readonly maxAttempts?: number;
  }): Table;
  /** Writes a row that no transition would write. */
  put(row: Row): Promise<void>;
  /** Deletes the table and closes every client. */
  close(): Promise<void>;
}

/** Creates a jobs table under a name that no other suite uses. */
export async function openJobsTable(engineEndpoint: string): Promise<JobsTable> {
  const tableName = uniqueName('jobs');
  const clients: DynamoDBClient[] = [];
  const clientFor = (endpoint: string, maxAttempts = 3) => {
    const client = createDynamoDbClient({ clock: systemClock, config: { ...local, endpoint, maxAttempts } });
    clients.push(client);
    return client;
  };
  const client = clientFor(engineEndpoint);
  await createJobsTable(client, tableName);
  return {
    tableName,
    client,
    at: ({ endpoint, batches = true, maxAttempts } = {}) =>
      createDynamoDbTable({
        client:
          endpoint === undefined && maxAttempts === undefined
            ? client
            : clientFor(endpoint ?? engineEndpoint, maxAttempts),
        tableName,
        batches,
      }),
    put: async (row) =>
      void (await client.send(new PutItemCommand({ TableName: tableName, Item: toItem(row) }))),
    async close() {
      await client.send(new DeleteTableCommand({ TableName: tableName }));
      for (const each of clients) each.destroy();
    },
  };
}
