import {
  BatchWriteItemCommand,
  DeleteTableCommand,
  type DynamoDBClient,
  type DynamoDBClientConfig,
  PutItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { systemClock } from '../../lib/aws/clock.ts';
import { toItem } from '../../lib/aws/dynamodb/attributes.ts';
import { createDynamoDbClient } from '../../lib/aws/dynamodb/client.ts';
import { createJobsTable } from '../../lib/aws/dynamodb/create-jobs-table.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import { inParallel } from '../../lib/protocol/in-parallel.ts';
import type { Clock, Table } from '../../lib/protocol/ports.ts';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import { local, patient, uniqueName } from './engines.ts';

/** A jobs table of a suite's own on an engine, reached directly or through a proxy. */
export interface JobsTable {
  readonly tableName: string;
  /** Reaches the engine directly, and waits for it. */
  readonly client: DynamoDBClient;
  /** The table as the system reaches it: by another endpoint or another way of writing many rows where given. */
  at(options?: {
    readonly endpoint?: string;
    readonly batches?: boolean;
    readonly maxAttempts?: number;
    /** Without the system's own limits of time, for suites that count requests. */
    readonly isPatient?: boolean;
  }): Table;
  /** Writes a row that no transition would write. */
  put(row: Row): Promise<void>;
  /** Writes many of them. */
  seed(rows: readonly Row[]): Promise<void>;
  /** Lets the lease of a running job end now. */
  lapse(jobId: string): Promise<void>;
  /** Deletes the table and closes every client. */
  close(): Promise<void>;
}

const ROWS_PER_REQUEST = 25;
const REQUESTS_AT_ONCE = 8;
/** Further back than any allowance for clocks. */
const LONG_AGO_MS = 60_000;

/** Creates a jobs table under a name that no other suite uses. */
export async function openJobsTable(engineEndpoint: string, clock: Clock = systemClock): Promise<JobsTable> {
  const tableName = uniqueName('jobs');
  const clients: DynamoDBClient[] = [];
  const clientFor = (config: DynamoDBClientConfig) => {
    const client = createDynamoDbClient({ clock, config });
    clients.push(client);
    return client;
  };
  const client = clientFor({ ...patient, endpoint: engineEndpoint });
  await createJobsTable(client, tableName);
  return {
    tableName,
    client,
    at: ({ endpoint, batches = true, maxAttempts = 3, isPatient = false } = {}) =>
      createDynamoDbTable({
        client:
          endpoint === undefined
            ? client
            : clientFor({ ...(isPatient ? patient : local), endpoint, maxAttempts }),
        tableName,
        batches,
      }),
    put: async (row) =>
      void (await client.send(new PutItemCommand({ TableName: tableName, Item: toItem(row) }))),
    async seed(rows) {
      const requests = Array.from({ length: Math.ceil(rows.length / ROWS_PER_REQUEST) }, (_, i) =>
        rows.slice(i * ROWS_PER_REQUEST, (i + 1) * ROWS_PER_REQUEST),
      );
      await inParallel(requests, REQUESTS_AT_ONCE, async (batch) => {
        const puts = batch.map((row) => ({ PutRequest: { Item: toItem(row) } }));
        await client.send(new BatchWriteItemCommand({ RequestItems: { [tableName]: puts } }));
      });
    },
    lapse: (jobId) => endLease(client, tableName, jobId, clock),
    async close() {
      await client.send(new DeleteTableCommand({ TableName: tableName }));
      for (const each of clients) each.destroy();
    },
  };
}

/**
 * Lets the lease of a running job end now. For jobs whose worker is dead or stopped: so tests need not wait for leases, and
 * leases can be so long that a busy machine lets none lapse by accident.
 */
async function endLease(
  client: DynamoDBClient,
  TableName: string,
  jobId: string,
  clock: Clock = systemClock,
): Promise<void> {
  await client.send(
    new UpdateItemCommand({
      TableName,
      Key: toItem({ jobId }),
      UpdateExpression: 'SET leaseUntil = :past',
      ConditionExpression: '#status = :running',
      ExpressionAttributeNames: { '#status': 'status' },
      ExpressionAttributeValues: toItem({ ':past': clock.now() - LONG_AGO_MS, ':running': 'running' }),
    }),
  );
}
