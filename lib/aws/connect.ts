import type { DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import type { SQSClientConfig } from '@aws-sdk/client-sqs';
import { createClockGuard } from '../protocol/clock-guard.ts';
import type { Clock, Random } from '../protocol/ports.ts';
import { createJobStore } from '../protocol/store/job-store.ts';
import type { Settings } from '../settings/settings.ts';
import { defined } from '../wire/defined.ts';
import { ownQueueUrl, queueUrlFor, type Routing } from '../wire/pools.ts';
import { systemClock, systemRandom } from './clock.ts';
import { createDynamoDbClient } from './dynamodb/client.ts';
import type { OnThrottled } from './dynamodb/count-throttles.ts';
import { createDynamoDbTable } from './dynamodb/dynamodb-table.ts';
import { reportFailures } from './dynamodb/report-failures.ts';
import { createSqsClient } from './sqs/client.ts';
import { createSqsQueue } from './sqs/sqs-queue.ts';

export interface ConnectOptions {
  readonly tableName: string;
  readonly settings: Settings;
  /** @default - the AWS SDK's standard chain */
  readonly dynamodb?: DynamoDBClientConfig;
  /** @default - region and credentials of `dynamodb`, so that an assumed role reaches every client */
  readonly sqs?: SQSClientConfig;
  /** Polls need a longer client timeout. @default true */
  readonly polls?: boolean;
  readonly onStoreFailures?: (requests: number) => void;
  readonly onThrottled?: OnThrottled;
  readonly clock?: Clock;
  readonly random?: Random;
}

/** Region, credentials and endpoint of every AWS client. */
export interface AwsOptions {
  /** @default - the AWS SDK's standard chain */
  readonly region?: string;
  /** @default - the AWS SDK's standard chain */
  readonly credentials?: SQSClientConfig['credentials'];
  /** One URL for all services, such as an emulator's. @default - the AWS SDK's standard chain */
  readonly endpoint?: string;
}

export const identityOf = ({
  region,
  credentials,
}: DynamoDBClientConfig = {}): Pick<DynamoDBClientConfig, 'region' | 'credentials'> =>
  defined({ region, credentials });

/** Sends nothing until used. */
export function connect(options: ConnectOptions) {
  const { tableName, settings, clock = systemClock, random = systemRandom, onThrottled } = options;
  const clockGuard = createClockGuard({ skewMs: settings.skewMs, clock });
  const dynamoDb = createDynamoDbClient({ clock, clockGuard, config: options.dynamodb, onThrottled });
  const sqs = createSqsClient({ ...identityOf(options.dynamodb), ...options.sqs }, { polls: options.polls });
  const table = reportFailures(
    createDynamoDbTable({ client: dynamoDb, tableName }),
    options.onStoreFailures ?? (() => {}),
  );
  return {
    clock,
    random,
    dynamoDb,
    sqs,
    clockGuard,
    table,
    storeOf: (actor: string, own = settings) =>
      createJobStore({ table, clock, random, settings: own, actor }),
    queueAt: (queueUrl: string, routing?: Routing) =>
      createSqsQueue({
        client: sqs,
        clock,
        fair: settings.fair,
        queueUrl: routing === undefined ? queueUrl : ownQueueUrl(queueUrl, routing),
        urlFor: routing && ((type) => queueUrlFor(queueUrl, routing.pools, type)),
      }),
    close(): void {
      dynamoDb.destroy();
      sqs.destroy();
    },
  };
}
