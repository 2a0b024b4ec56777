import { QueryCommand } from '@aws-sdk/client-dynamodb';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { systemClock, systemRandom } from '../../lib/aws/clock.ts';
import { fromItem, toItem } from '../../lib/aws/dynamodb/attributes.ts';
import { createDynamoDbClient } from '../../lib/aws/dynamodb/client.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import { createSqsQueue } from '../../lib/aws/sqs/sqs-queue.ts';
import { pendingShard, runningShard } from '../../lib/protocol/shards.ts';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import { ROW_FORMAT } from '../../lib/wire/table.ts';
import { patient, sqsClient } from './engines.ts';
import { type ReaperStage, reaperStage } from './reaper-stage.ts';
import { row } from './rows.ts';
import { openStage, type Stage, type StageOptions } from './stage.ts';

/** A stage as one or several reapers see it. */
export interface ReaperOnEngine extends Stage {
  /** Requests of both proxies so far. */
  requests(): number;
  /** Another reaper on the same table and queue. */
  reaper(options?: { readonly name?: string }): ReaperStage;
  seed(rows: readonly Row[]): Promise<void>;
  /** A row whose worker's lease ended so long ago. */
  running(jobId: string, endedAgoMs: number, over?: Readonly<Record<string, unknown>>): Row;
  finished(jobId: string): Row;
  /** Rows of the lease index, past the proxy. */
  inIndex(shard: string): Promise<Row[]>;
  waitingHints(): Promise<number>;
}

const SHARDS = 8;

export async function reaperOnEngine(options: StageOptions = {}): Promise<ReaperOnEngine> {
  const { clock = systemClock } = options;
  const stage = await openStage(options);
  const { tableName, queueUrl, dynamodb, sqs, direct } = stage;
  const clients: { destroy(): void }[] = [];

  return {
    ...stage,
    requests: () =>
      [dynamodb, sqs].flatMap((proxy) => Object.values(proxy.counts)).reduce((sum, each) => sum + each, 0),
    reaper({ name = 'reaper/1' } = {}) {
      const config = { ...patient, endpoint: dynamodb.endpoint };
      const client = createDynamoDbClient({ clock: systemClock, config });
      const queueClient = sqsClient(sqs.endpoint);
      clients.push(client, queueClient);
      const queue = createSqsQueue({ client: queueClient, queueUrl, clock: systemClock });
      return reaperStage({
        table: createDynamoDbTable({ client, tableName }),
        ...{ clock, name, random: systemRandom },
        settings: { shards: SHARDS },
        more: { queue },
      });
    },
    seed: direct.jobs.seed,
    running: (jobId, endedAgoMs, over = {}) =>
      row({
        jobId,
        status: 'running',
        format: ROW_FORMAT,
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
      const reply = await direct.jobs.client.send(
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
      const reply = await direct.sqs.send(
        new GetQueueAttributesCommand({
          QueueUrl: direct.queueUrl,
          AttributeNames: ['ApproximateNumberOfMessages'],
        }),
      );
      return Number(reply.Attributes?.ApproximateNumberOfMessages);
    },
    async close() {
      for (const client of clients) client.destroy();
      await stage.close();
    },
  };
}
