import { hostname } from 'node:os';
import { systemChance, systemClock } from '../aws/clock.ts';
import { createDynamoDbClient } from '../aws/dynamodb/client.ts';
import { createDynamoDbTable } from '../aws/dynamodb/dynamodb-table.ts';
import { createEventBridgeEvents, noEvents } from '../aws/eventbridge.ts';
import { createSqsClient } from '../aws/sqs/client.ts';
import { createSqsQueue } from '../aws/sqs/sqs-queue.ts';
import { createPowertoolsTelemetry, type PowertoolsTelemetry } from '../aws/telemetry.ts';
import { type ClockGuard, createClockGuard } from '../protocol/clock-guard.ts';
import type { Table } from '../protocol/ports.ts';
import { createJobStore } from '../protocol/store/job-store.ts';
import type { Configuration } from '../settings/environment.ts';
import { LEADER_KEY } from '../wire/table.ts';
import { createThreadHeart } from './heart/thread-heart.ts';
import type { AwsAddress } from './heart/thread-messages.ts';
import { createClockCheck } from './intake/clock-check.ts';
import { checkRegistry, type Registry } from './registry.ts';
import type { Heart } from './run/heart.ts';
import type { WorkerParts } from './worker-parts.ts';

export interface ComposeOptions {
  readonly registry: Registry;
  readonly configuration: Configuration;
  /** @default - host name, process id and a random part */
  readonly worker?: string;
  /** @default - the standard chain of the AWS SDK */
  readonly dynamodb?: AwsAddress;
  /** @default - the standard chain of the AWS SDK */
  readonly sqs?: AwsAddress;
  /** @default - a heart in a thread of its own */
  readonly heart?: Heart;
  readonly telemetry?: PowertoolsTelemetry;
}

/** A worker's parts on AWS, and what ends with them. */
export interface ComposedWorker extends WorkerParts {
  readonly telemetry: PowertoolsTelemetry;
  /** For a reaper in the same process. */
  readonly table: Table;
  readonly clockGuard: ClockGuard;
  close(): Promise<void>;
}

/** Puts a worker together on DynamoDB, SQS, EventBridge and Powertools. */
export function composeWorker(options: ComposeOptions): ComposedWorker {
  const { registry, configuration } = options;
  const { resources, settings } = configuration;
  checkRegistry(registry, settings);
  const worker = options.worker ?? `${hostname()}-${process.pid}-${systemChance.unique()}`;
  const telemetry = options.telemetry ?? createPowertoolsTelemetry({ serviceName: resources.serviceName });
  const guard = createClockGuard(settings);
  const client = createDynamoDbClient({
    clock: systemClock,
    clockGuard: guard,
    config: options.dynamodb,
  });
  const table = createDynamoDbTable({ client, tableName: resources.tableName });
  const sqs = createSqsClient(options.sqs);
  const heart =
    options.heart ??
    createThreadHeart({
      connection: {
        tableName: resources.tableName,
        serviceName: resources.serviceName,
        settings,
        worker,
        aws: options.dynamodb,
      },
      clock: systemClock,
      telemetry,
    });
  return {
    registry,
    settings,
    clock: systemClock,
    chance: systemChance,
    store: createJobStore({ table, clock: systemClock, chance: systemChance, settings, actor: worker }),
    queue: createSqsQueue({ client: sqs, queueUrl: resources.queueUrl, clock: systemClock }),
    telemetry,
    events: settings.eventsEnabled
      ? createEventBridgeEvents({
          busName: resources.eventBusName,
          serviceName: resources.serviceName,
          telemetry,
        })
      : noEvents,
    heart,
    clockCheck: createClockCheck({ guard, telemetry, askTheTime: () => table.read(LEADER_KEY) }),
    worker,
    table,
    clockGuard: guard,
    async close() {
      await heart.close();
      client.destroy();
      sqs.destroy();
    },
  };
}
