import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import {
  GetQueueAttributesCommand,
  SendMessageCommand,
  SQSClient,
  type SQSClientConfig,
} from '@aws-sdk/client-sqs';
import { systemClock, systemRandom } from '../../lib/aws/clock.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import type { Job } from '../../lib/protocol/job.ts';
import type { JobStore } from '../../lib/protocol/ports.ts';
import { pendingShard } from '../../lib/protocol/shards.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import type { Credentials } from './emulator.ts';

/** The outputs of the stack. */
export interface Outputs {
  readonly QueueUrl: string;
  readonly TableName: string;
  readonly leftQueueUrl: string;
  readonly rightQueueUrl: string;
  readonly heavyQueueUrl: string;
}

export type RehearsedPool = 'left' | 'right' | 'heavy';

/** A deployed stack as its users see it: a queue to send to, rows to look at. */
export interface Deployment {
  send(body: object, credentials?: Credentials): Promise<void>;
  /** Sends to the queue of a pool. */
  sendTo(pool: RehearsedPool, body: object): Promise<void>;
  /** Messages that wait in the queue of a pool. */
  waitingIn(pool: RehearsedPool): Promise<number>;
  /** Puts a message where only messages go that no worker took. */
  sendToDeadLetters(body: object): Promise<void>;
  /** The store, at a time of one's choice. */
  storeAt(shiftMs: number): JobStore;
  /** A row as it is. */
  row(key: string): Promise<Row | undefined>;
  /** Whether the index has a pending job. */
  indexed(jobId: string): Promise<boolean>;
  /** Waits until a job is as wanted. */
  until(jobId: string, isWanted: (job: Job) => boolean, withinMs: number): Promise<Job>;
  close(): void;
}

export function openDeployment(
  { QueueUrl, TableName, ...outputs }: Outputs,
  { clientConfig }: { readonly clientConfig: DynamoDBClientConfig & SQSClientConfig },
): Deployment {
  const dynamoDb = new DynamoDBClient(clientConfig);
  const sqs = new SQSClient(clientConfig);
  const table = createDynamoDbTable({ client: dynamoDb, tableName: TableName });
  const storeAt = (shiftMs: number) =>
    createJobStore({
      table,
      clock: { ...systemClock, now: () => systemClock.now() + shiftMs },
      random: systemRandom,
      settings: defaultSettings,
      actor: 'rehearsal',
    });

  return {
    storeAt,
    row: table.read,
    async indexed(jobId) {
      const partition = pendingShard(jobId, defaultSettings.shards);
      const { rows } = await table.query({ partition, limit: 1000, newestFirst: true });
      return rows.some((row) => row.jobId === jobId);
    },
    async send(body, credentials) {
      const client = credentials === undefined ? sqs : new SQSClient({ ...clientConfig, credentials });
      await client.send(new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify(body) }));
    },
    async sendTo(pool, body) {
      const to = { QueueUrl: outputs[`${pool}QueueUrl`], MessageBody: JSON.stringify(body) };
      await sqs.send(new SendMessageCommand(to));
    },
    async waitingIn(pool) {
      const { Attributes } = await sqs.send(
        new GetQueueAttributesCommand({
          QueueUrl: outputs[`${pool}QueueUrl`],
          AttributeNames: ['ApproximateNumberOfMessages'],
        }),
      );
      return Number(Attributes?.ApproximateNumberOfMessages);
    },
    async sendToDeadLetters(body) {
      const { Attributes } = await sqs.send(
        new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['RedrivePolicy'] }),
      );
      const arn: string = JSON.parse(Attributes?.RedrivePolicy ?? '{}').deadLetterTargetArn;
      const url = QueueUrl.replace(/[^/]+$/, arn.split(':').at(-1) ?? '');
      await sqs.send(new SendMessageCommand({ QueueUrl: url, MessageBody: JSON.stringify(body) }));
    },
    async until(jobId, isWanted, withinMs) {
      const end = Date.now() + withinMs;
      for (;;) {
        const job = await storeAt(0).read(jobId);
        if (job !== undefined && isWanted(job)) return job;
        if (Date.now() > end)
          throw new Error(
            `job ${jobId} is not as expected after ${withinMs / 1000} s: ${JSON.stringify(job)}`,
          );
        await sleep(250);
      }
    },
    close() {
      dynamoDb.destroy();
      sqs.destroy();
    },
  };
}
