import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from '../lib/aws/connect.ts';
import { type Client, createClient } from '../lib/client/index.ts';
import { createProducer, type Producer } from '../lib/client/producer/index.ts';
import type { Job } from '../lib/protocol/job.ts';
import type { JobStore } from '../lib/protocol/ports.ts';
import { pendingShard } from '../lib/protocol/shards.ts';
import { defaultSettings } from '../lib/settings/settings.ts';
import type { Registry } from '../lib/worker/registry.ts';

export interface Outputs {
  readonly QueueUrl: string;
  readonly TableName: string;
  readonly ServiceName: string;
  readonly ProcessQueueUrl: string;
  readonly ContractTableName: string;
  readonly WorkerSourceId: string;
  readonly ReaperScheduleName: string;
}

/** The deployed system, through the product's clients, and its rows where the clients do not show enough. */
export interface System {
  readonly outputs: Outputs;
  readonly client: Client;
  readonly producer: Producer<Registry>;
  readonly store: Pick<JobStore, 'read' | 'schedule'>;
  readonly table: ReturnType<typeof connect>['table'];
  readonly dynamoDb: ReturnType<typeof connect>['dynamoDb'];
  isIndexed(jobId: string): Promise<boolean>;
  close(): void;
}

export function openSystem(outputs: Outputs, region: string): System {
  const { TableName: tableName, QueueUrl, ProcessQueueUrl } = outputs;
  const connection = connect({
    tableName,
    settings: defaultSettings,
    dynamodb: { region },
    sqs: { region },
    polls: false,
  });
  const { table, dynamoDb } = connection;
  const client = createClient({ table: tableName, queue: QueueUrl, region, actor: 'rehearsal' });
  return {
    outputs,
    client,
    producer: createProducer({ queue: ProcessQueueUrl, region }),
    store: connection.storeOf('rehearsal'),
    table,
    dynamoDb,
    async isIndexed(jobId) {
      const partition = pendingShard(jobId, defaultSettings.shards);
      const { rows } = await table.query({ partition, limit: 1000, newestFirst: true });
      return rows.some((row) => row.jobId === jobId);
    },
    close() {
      client.close();
      connection.close();
    },
  };
}

export async function untilJob<Wanted extends Job>(
  { store }: Pick<System, 'store'>,
  jobId: string,
  isWanted: (job: Job) => job is Wanted,
  { withinMs, signal }: { readonly withinMs: number; readonly signal: AbortSignal },
): Promise<Wanted> {
  const end = Date.now() + withinMs;
  for (;;) {
    const job = await store.read(jobId);
    if (job !== undefined && isWanted(job)) return job;
    if (Date.now() > end)
      throw new Error(`job ${jobId} is not as expected after ${withinMs / 1000} s: ${JSON.stringify(job)}`);
    await sleep(250, undefined, { signal });
  }
}
