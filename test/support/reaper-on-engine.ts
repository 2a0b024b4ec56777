import { randomUUID } from 'node:crypto';
import { BatchWriteItemCommand, DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb';
import { CreateQueueCommand, GetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { systemChance, systemClock } from '../../lib/aws/clock.ts';
import { fromItem, toItem } from '../../lib/aws/dynamodb/attributes.ts';
import { createDynamoDbClient } from '../../lib/aws/dynamodb/client.ts';
import { createJobsTable } from '../../lib/aws/dynamodb/create-jobs-table.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import { createSqsQueue } from '../../lib/aws/sqs/sqs-queue.ts';
import type { ClockGuard } from '../../lib/protocol/clock-guard.ts';
import type { Clock } from '../../lib/protocol/ports.ts';
import { pendingShard, runningShard } from '../../lib/protocol/shards.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';
import { type ReaperStage, reaperStage } from './reaper-stage.ts';
import { row } from './rows.ts';

/** Real table and queue behind fault proxies, as one or several reapers see them. */
export interface ReaperOnEngine {
  readonly tableName: string;
  /** The queue's address at the proxy. */
  readonly queueUrl: string;
  readonly dynamoDb: FaultProxy;
  readonly sqs: FaultProxy;
  /** Requests of both proxies so far. */
  requests(): number;
  /** Another reaper on the same table and queue. */
  reaper(options?: ReaperOptions): ReaperStage;
  seed(rows: readonly Row[]): Promise<void>;
  /** A row whose worker's lease ended so long ago. */
  running(jobId: string, endedAgoMs: number, over?: Readonly<Record<string, unknown>>): Row;
  finished(jobId: string): Row;
  /** Rows of the lease index, past the proxy. */
  inIndex(shard: string): Promise<Row[]>;
  waitingHints(): Promise<number>;
  stop(): Promise<void>;
}

interface ReaperOptions {
  readonly name?: string;
  readonly clockGuard?: ClockGuard;
  readonly settings?: Readonly<Record<string, unknown>>;
}

const SHARDS = 8;

export async function reaperOnEngine(options: {
  readonly dynamoDbEndpoint: string;
  readonly sqsEndpoint: string;
  readonly clock?: Clock;
}): Promise<ReaperOnEngine> {
  const { clock = systemClock } = options;
  const tableName = `reaper-${randomUUID()}`;
  const direct = new DynamoDBClient(connection(options.dynamoDbEndpoint));
  const directQueue = new SQSClient(connection(options.sqsEndpoint));
  await createJobsTable(direct, tableName);
  const { QueueUrl: directUrl = '' } = await directQueue.send(
    new CreateQueueCommand({ QueueName: tableName }),
  );
  const dynamoDb = await startFaultProxy({ target: options.dynamoDbEndpoint });
  const sqs = await startFaultProxy({ target: options.sqsEndpoint });
  const steady = createDynamoDbClient({
    clock: systemClock,
    config: connection(options.dynamoDbEndpoint),
  });
  const queueUrl = `${sqs.endpoint}${new URL(directUrl).pathname}`;
  const closing: { destroy(): void }[] = [direct, directQueue, steady];

  return {
    tableName,
    queueUrl,
    dynamoDb,
    sqs,
    requests: () =>
      [dynamoDb, sqs].flatMap((proxy) => Object.values(proxy.counts)).reduce((sum, each) => sum + each, 0),
    reaper({ name = 'reaper/1', clockGuard, settings = {} } = {}) {
      // Waits between the SDK's own attempts are of no interest here; a busy machine may need long for a reply.
      const client = createDynamoDbClient({
        clock: systemClock,
        clockGuard,
        config: { ...connection(dynamoDb.endpoint), ...PATIENT },
      });
      const queueClient = new SQSClient(connection(sqs.endpoint));
      closing.push(client, queueClient);
      const table = createDynamoDbTable({ client, tableName });
      const given = { shards: SHARDS, ...settings };
      const stage = reaperStage({ table, clock, settings: given, name, chance: systemChance });
      const store = createJobStore({
        table,
        clock,
        chance: systemChance,
        settings: stage.settings,
        actor: name,
      });
      const queue = createSqsQueue({ client: queueClient, queueUrl, clock: systemClock });
      const guarded = clockGuard === undefined ? {} : { clockGuard };
      return { ...stage, store, deps: { ...stage.deps, store, queue, ...guarded } };
    },
    seed: (rows) => writeRows(steady, tableName, rows),
    running: (jobId, endedAgoMs, over = {}) =>
      row({
        jobId,
        status: 'running',
        leaseShard: runningShard(jobId, SHARDS),
        leaseUntil: clock.now() - endedAgoMs,
        startedAt: clock.now() - endedAgoMs - 30_000,
        leaseOwner: 'worker/i-0123456789abcdef0/AAAAAAAAAAAA',
        notBefore: undefined,
        dispatches: undefined,
        finishedAt: undefined,
        expiresAt: undefined,
        ...over,
      }),
    finished: (jobId) =>
      row({
        jobId,
        status: 'done',
        leaseShard: pendingShard(jobId, SHARDS),
        leaseUntil: undefined,
        notBefore: undefined,
      }),
    async inIndex(shard) {
      const reply = await steady.send(
        new QueryCommand({
          TableName: tableName,
          IndexName: 'byLease',
          KeyConditionExpression: 'leaseShard = :shard',
          ExpressionAttributeValues: toItem({ ':shard': shard }),
        }),
      );
      return (reply.Items ?? []).map(fromItem);
    },
    async waitingHints() {
      const reply = await directQueue.send(
        new GetQueueAttributesCommand({
          QueueUrl: directUrl,
          AttributeNames: ['ApproximateNumberOfMessages'],
        }),
      );
      return Number(reply.Attributes?.ApproximateNumberOfMessages);
    },
    async stop() {
      for (const client of closing) client.destroy();
      await Promise.all([dynamoDb.stop(), sqs.stop()]);
    },
  };
}

const connection = (endpoint: string) => ({
  endpoint,
  region: 'eu-west-1',
  credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
});

const PATIENT = {
  requestHandler: { connectionTimeout: 20_000, requestTimeout: 20_000, httpAgent: { maxSockets: 64 } },
};

const ROWS_PER_REQUEST = 25;
const REQUESTS_AT_ONCE = 8;

async function writeRows(client: DynamoDBClient, tableName: string, rows: readonly Row[]): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < rows.length) {
      const batch = rows.slice(next, next + ROWS_PER_REQUEST);
      next += ROWS_PER_REQUEST;
      await client.send(
        new BatchWriteItemCommand({
          RequestItems: { [tableName]: batch.map((row) => ({ PutRequest: { Item: toItem(row) } })) },
        }),
      );
    }
  };
  await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, lane));
}
