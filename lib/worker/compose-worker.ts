import { hostname } from 'node:os';
import type { DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { systemChance, systemClock } from '../aws/clock.ts';
import { connectDeployed } from '../aws/connect-deployed.ts';
import { createPowertoolsTelemetry, type PowertoolsTelemetry } from '../aws/telemetry.ts';
import type { ClockGuard } from '../protocol/clock-guard.ts';
import type { Table } from '../protocol/ports.ts';
import type { Configuration } from '../settings/environment.ts';
import { LEADER_KEY } from '../wire/table.ts';
import type { Cells } from './cells/cells.ts';
import { createCells, type Handlers } from './cells/create-cells.ts';
import type { CellsOptions } from './cells/host/fork-cells.ts';
import { createClockCheck } from './intake/clock-check.ts';
import { createBrake } from './run/brake.ts';
import { createHeartLoop } from './run/heart-loop.ts';
import type { WorkerParts } from './worker-parts.ts';

/** Where AWS is, when it is not where the standard chain says. */
interface AwsAddress {
  readonly endpoint?: string;
  readonly region?: string;
  /** Keys, or a provider such as `fromTemporaryCredentials()`. */
  readonly credentials?: DynamoDBClientConfig['credentials'];
}

/** What every function of the worker's side stands on. */
export interface WorkerConnectOptions {
  readonly configuration: Configuration;
  /** @default - host name, process id and a random part */
  readonly worker?: string;
  /** @default - the standard chain of the AWS SDK */
  readonly dynamodb?: AwsAddress;
  /** @default - region and credentials of `dynamodb` */
  readonly sqs?: AwsAddress;
  readonly telemetry?: PowertoolsTelemetry;
}

/** The parts of a worker that is put together by hand. */
export interface ComposeOptions extends HostOptions {
  readonly handlers: Handlers;
}

/** The parts of a worker that does not say where its handlers come from. */
export interface HostOptions extends WorkerConnectOptions {
  /** How many cells share the work, and how many jobs they run at once. @default - one cell, one job */
  readonly cells?: number;
  readonly concurrency?: number;
  /** Whether a cell beyond those is kept ready for the next death. @default false */
  readonly spare?: boolean;
}

/** DynamoDB, SQS, EventBridge and Powertools, put together. */
export interface WorkerConnection extends Omit<WorkerParts, 'heart' | 'cells' | 'brake'> {
  readonly telemetry: PowertoolsTelemetry;
  /** For a reaper in the same process. */
  readonly table: Table;
  readonly clockGuard: ClockGuard;
  close(): Promise<void>;
}

/** A worker's parts on AWS, and what ends with them. */
export type ComposedWorker = WorkerConnection & WorkerParts;

export function connectWorker(options: WorkerConnectOptions): WorkerConnection {
  const { configuration, telemetry, dynamodb, sqs } = options;
  const worker = options.worker ?? `${hostname()}-${process.pid}-${systemChance.unique()}`;
  const aws = connectDeployed({ configuration, actor: worker, telemetry, dynamodb, sqs });
  const askTheTime = () => aws.table.read(LEADER_KEY);
  return {
    ...aws,
    worker,
    clockCheck: createClockCheck({ guard: aws.clockGuard, telemetry: aws.telemetry, askTheTime }),
    close: async () => aws.close(),
  };
}

/** Puts a worker together. */
export const composeWorker = (options: ComposeOptions): ComposedWorker =>
  composeHost(options, (given) => createCells(options.handlers, given));

/** Puts a worker together around its cells. They are started first, to be ready early. */
export function composeHost(
  options: HostOptions,
  makeCells: (options: CellsOptions) => Cells,
): ComposedWorker {
  const { settings, resources } = options.configuration;
  const { serviceName } = resources;
  const telemetry = options.telemetry ?? createPowertoolsTelemetry({ serviceName, ...settings });
  const clock = systemClock;
  const cells = makeCells({
    ...{ clock, telemetry, settings, serviceName },
    cells: options.cells ?? 1,
    concurrency: options.concurrency ?? 1,
    spare: options.spare,
  });
  const connection = connectWorker({ ...options, telemetry });
  const heart = createHeartLoop({
    ...{ clock, chance: connection.chance, store: connection.store },
    onFailure: ({ jobId, attempt }, error) =>
      telemetry.warn('heartbeat failed', {
        ...{ jobId, attempt },
        reason: error instanceof Error ? error.message : String(error),
      }),
  });
  return {
    ...connection,
    ...{ heart, cells, brake: createBrake(clock, telemetry) },
    async close() {
      await heart.close();
      await cells.close();
      await connection.close();
    },
  };
}
