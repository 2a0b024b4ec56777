import type { DynamoDBClient, DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import type { SQSClient, SQSClientConfig } from '@aws-sdk/client-sqs';
import { type ClockGuard, createClockGuard } from '../protocol/clock-guard.ts';
import type { Chance, Clock, JobQueue, JobStore, Table } from '../protocol/ports.ts';
import { createJobStore } from '../protocol/store/job-store.ts';
import type { Settings } from '../settings/settings.ts';
import { defined } from '../wire/defined.ts';
import { systemChance, systemClock } from './clock.ts';
import { createDynamoDbClient } from './dynamodb/client.ts';
import { createDynamoDbTable } from './dynamodb/dynamodb-table.ts';
import { reportFailures } from './dynamodb/report-failures.ts';
import { createSqsClient } from './sqs/client.ts';
import { createSqsQueue } from './sqs/sqs-queue.ts';

export interface ConnectOptions {
  readonly tableName: string;
  readonly settings: Settings;
  /** @default - the standard chain of the AWS SDK */
  readonly dynamodb?: DynamoDBClientConfig;
  /** @default - region and credentials of `dynamodb`, so that a role assumed in code reaches every client */
  readonly sqs?: SQSClientConfig;
  /** Whether messages are also received: a poll takes 20 s, so such a client waits longer for an answer. @default true */
  readonly polls?: boolean;
  /** Told of requests to the table that broke. */
  readonly onStoreFailures?: (requests: number) => void;
  /** Told of each attempt that DynamoDB refused for load. */
  readonly onThrottled?: (requests: number) => void;
  /** @default - the machine's own */
  readonly clock?: Clock;
  /** @default - the machine's own */
  readonly chance?: Chance;
}

/** Table, store and queues of one system on AWS, on one client for each service. */
export interface Connection {
  readonly clock: Clock;
  readonly chance: Chance;
  readonly dynamoDb: DynamoDBClient;
  readonly sqs: SQSClient;
  /** Sees the time of each of DynamoDB's replies. */
  readonly clockGuard: ClockGuard;
  readonly table: Table;
  /** The store for one actor, whose name rows record in `changedBy`. */
  storeOf(actor: string, settings?: Settings): JobStore;
  queueAt(queueUrl: string): JobQueue;
  close(): void;
}

/** Who calls, and where: what all clients of one system share unless they are told otherwise. */
export const identityOf = ({ region, credentials }: DynamoDBClientConfig = {}) =>
  defined({ region, credentials });

/** Connects to a system. Nothing is sent before it is used. */
export function connect(options: ConnectOptions): Connection {
  const { tableName, settings, clock = systemClock, chance = systemChance } = options;
  const clockGuard = createClockGuard(settings);
  const dynamoDb = createDynamoDbClient({
    ...{ clock, clockGuard, config: options.dynamodb, onThrottled: options.onThrottled },
  });
  const sqs = createSqsClient({ ...identityOf(options.dynamodb), ...options.sqs }, { polls: options.polls });
  const table = reportFailures(
    createDynamoDbTable({ client: dynamoDb, tableName }),
    options.onStoreFailures ?? (() => {}),
  );
  return {
    ...{ clock, chance, dynamoDb, sqs, clockGuard, table },
    storeOf: (actor, own = settings) => createJobStore({ table, clock, chance, settings: own, actor }),
    queueAt: (queueUrl) => createSqsQueue({ client: sqs, queueUrl, clock }),
    close() {
      dynamoDb.destroy();
      sqs.destroy();
    },
  };
}
