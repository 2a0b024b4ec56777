import { hostname } from 'node:os';
import { LEADER_KEY } from '../contract/table.ts';
import { createDynamoDbClient } from '../dynamodb/client.ts';
import { createDynamoDbTable } from '../dynamodb/dynamodb-table.ts';
import { createEventBridgeEvents, noEvents } from '../events/eventbridge-events.ts';
import { type ClockGuard, createClockGuard } from '../jobs/clock-guard.ts';
import { createJobStore } from '../jobs/job-store.ts';
import type { Table } from '../jobs/ports.ts';
import type { Configuration } from '../jobs/settings-environment.ts';
import { createSqsClient } from '../sqs/client.ts';
import { createSqsQueue } from '../sqs/sqs-queue.ts';
import { systemChance, systemClock } from '../system/system-clock.ts';
import { createPowertoolsTelemetry, type PowertoolsTelemetry } from '../telemetry/powertools-telemetry.ts';
import { createClockCheck } from './clock-check.ts';
import type { Heart } from './heart/heart.ts';
import { createThreadHeart } from './heart/thread-heart.ts';
import type { AwsAddress } from './heart/thread-messages.ts';
import { checkRegistry, type Registry } from './registry.ts';
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
    ...(options.dynamodb && { config: options.dynamodb }),
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
        ...(options.dynamodb && { aws: options.dynamodb }),
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
