import { readFileSync } from 'node:fs';
import {
  type AttributeValue,
  DeleteTableCommand,
  QueryCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { DeleteQueueCommand } from '@aws-sdk/client-sqs';
import { systemClock, systemRandom } from '../../lib/aws/clock.ts';
import { createDynamoDbClient } from '../../lib/aws/dynamodb/client.ts';
import { createJobsTable } from '../../lib/aws/dynamodb/create-jobs-table.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import { createSqsClient } from '../../lib/aws/sqs/client.ts';
import { createSqsQueue } from '../../lib/aws/sqs/sqs-queue.ts';
import { allShards } from '../../lib/protocol/shards.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { createLocalQueues } from '../../lib/tools/dev/create-local-queues.ts';
import { jobBody } from '../../lib/wire/message.ts';
import { byLease } from '../../lib/wire/table.ts';
import { startEngineProcesses } from '../support/engine-processes.ts';
import { local, settingsOf } from './leasehold-settings.ts';
import type { JobState, System } from './system.ts';

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};

const STATUS: Readonly<Record<string, JobState['status']>> = {
  pending: 'waiting',
  running: 'running',
  done: 'done',
  failed: 'failed',
  cancelled: 'failed',
};

/** Leasehold on the stand-ins for DynamoDB and SQS, each in a process of its own. */
export async function start(): Promise<System> {
  const engines = await startEngineProcesses();
  const { dynamodb, sqs } = engines;
  const client = createDynamoDbClient({ clock: systemClock, config: local(dynamodb) });
  const sqsClient = createSqsClient(local(sqs));
  const settings = settingsOf('fast');
  const usual = settingsOf('default');
  const tableOf = (tableName: string) => createDynamoDbTable({ client, tableName });
  const urls = new Map<string, string>();
  const queueOf = (name: string) =>
    createSqsQueue({ client: sqsClient, queueUrl: urls.get(name) ?? '', clock: systemClock });
  const storeOf = (name: string) =>
    createJobStore({
      table: tableOf(name),
      clock: systemClock,
      random: systemRandom,
      settings,
      actor: 'bench',
    });
  return {
    name: 'leasehold',
    title: 'Leasehold',
    version: manifest.version,
    store: `${engines.engine} and fauxqs, standing in for DynamoDB and SQS`,
    settings: {
      default: `lease ${usual.leaseMs / 1000} s, heartbeat ${usual.heartbeatMs / 1000} s, skew ${usual.skewMs / 1000} s; each worker process embeds a reaper, and one of them sweeps`,
      fast: 'lease 10 s (its minimum), heartbeat 3.3 s, skew 2 s; a reaper in a process sweeps',
    },
    program: new URL('./leasehold-process.ts', import.meta.url).pathname,
    stores: { dynamodb, sqs },
    leaseMs: { default: usual.leaseMs, fast: settings.leaseMs },
    renews: { default: true, fast: true },
    // Counting an index reads it, and the engine does one thing at a time.
    tellsReclaims: true,
    async prepare(name) {
      await createJobsTable(client, name);
      const { queue } = await createLocalQueues(sqsClient, name, resolveSettings());
      urls.set(name, queue.url);
    },
    async enqueue(name, jobs) {
      const bodies = jobs.map((job) => ({ body: jobBody('bench', job, { jobId: job.id }) }));
      const sent = await queueOf(name).sendJobs(bodies);
      const failed = sent.filter((each) => each.outcome === 'failed').length;
      if (failed > 0) throw new Error(`${failed} of ${jobs.length} messages were not sent`);
    },
    async state(name, id) {
      const job = await storeOf(name).read(id);
      // A job without a row is a message that nobody has taken.
      if (job === undefined) return { status: 'waiting' };
      const result = job.status === 'done' ? (job.result as { by?: number } | undefined) : undefined;
      return {
        status: STATUS[job.status] ?? 'waiting',
        resultBy: result?.by,
        crashes: job.crashes,
      };
    },
    async waiting(name) {
      const counts = await Promise.all(
        allShards(settings.shards).pending.map((partition) => countAll(name, partition)),
      );
      return counts.reduce((sum, count) => sum + count, 0);
    },
    async charge(name, id, crashes) {
      await client.send(
        new UpdateItemCommand({
          TableName: name,
          Key: { jobId: { S: id } },
          UpdateExpression: 'SET crashes = :crashes',
          ExpressionAttributeValues: { ':crashes': { N: String(crashes) } },
        }),
      );
    },
    async discard(name) {
      await client.send(new DeleteTableCommand({ TableName: name }));
      await sqsClient.send(new DeleteQueueCommand({ QueueUrl: urls.get(name) }));
    },
    async stop() {
      client.destroy();
      sqsClient.destroy();
      await engines.stop();
    },
  };

  async function countAll(name: string, partition: string): Promise<number> {
    let total = 0;
    let from: Record<string, AttributeValue> | undefined;
    do {
      const reply = await client.send(
        new QueryCommand({
          TableName: name,
          IndexName: byLease.name,
          Select: 'COUNT',
          KeyConditionExpression: '#shard = :shard',
          ExpressionAttributeNames: { '#shard': byLease.partitionKey.name },
          ExpressionAttributeValues: { ':shard': { S: partition } },
          ExclusiveStartKey: from,
        }),
      );
      total += reply.Count ?? 0;
      from = reply.LastEvaluatedKey;
    } while (from !== undefined);
    return total;
  }
}
