import { hostname } from 'node:os';
import type { DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';
import { systemClock, systemRandom } from '../aws/clock.ts';
import { connectDeployed } from '../aws/connect-deployed.ts';
import { createPowertoolsTelemetry, type PowertoolsTelemetry } from '../aws/telemetry.ts';
import { createControlReader } from '../protocol/limits/control.ts';
import type { Configuration } from '../settings/environment.ts';
import type { Cells, CellsOptions } from './cells/cells.ts';
import { createCells, type Handlers } from './cells/create-cells.ts';
import { createClockCheck } from './intake/clock-check.ts';
import { createCrashThrottle } from './run/crash-throttle.ts';
import { createHeartLoop } from './run/heart-loop.ts';
import type { WorkerParts } from './worker-parts.ts';

interface AwsAddress {
  readonly endpoint?: string;
  readonly region?: string;
  /** Keys, or a provider such as `fromTemporaryCredentials()`. */
  readonly credentials?: DynamoDBClientConfig['credentials'];
}

export interface WorkerConnectOptions {
  /** @internal */
  readonly configuration: Configuration;
  /** The worker's name in rows and log lines. @default - host name, process ID and a random suffix */
  readonly worker?: string;
  /** @default - the AWS SDK's standard chain */
  readonly dynamodb?: AwsAddress;
  /** @default - region and credentials of `dynamodb` */
  readonly sqs?: AwsAddress;
  /** @internal */
  readonly telemetry?: PowertoolsTelemetry;
}

export interface ComposeOptions extends HostOptions {
  readonly handlers: Handlers;
}

export interface HostOptions extends WorkerConnectOptions {
  /** @default 1 */
  readonly cells?: number;
  readonly concurrency?: number;
  /** Keeps one more cell ready to replace a dead one. @default false */
  readonly spare?: boolean;
}

export type WorkerConnection = ReturnType<typeof connectWorker>;

export type ComposedWorker = WorkerConnection & WorkerParts;

export function connectWorker(options: WorkerConnectOptions) {
  const { configuration, telemetry, dynamodb, sqs } = options;
  const worker = options.worker ?? `${hostname()}-${process.pid}-${systemRandom.unique()}`;
  const aws = connectDeployed({ configuration, actor: worker, telemetry, dynamodb, sqs });
  const control = createControlReader(aws);
  // Any reply carries the time, and the intake needs this row anyway.
  const askTheTime = () => control.current(0);
  return {
    ...aws,
    worker,
    control,
    clockCheck: createClockCheck({ ...aws, guard: aws.clockGuard, askTheTime }),
    close: async () => aws.close(),
  };
}

export const composeWorker = (options: ComposeOptions): ComposedWorker =>
  composeHost(options, (given) => createCells(options.handlers, given));

/** Starts the cells first because they take longest. */
export function composeHost(
  options: HostOptions,
  makeCells: (options: CellsOptions) => Cells,
): ComposedWorker {
  const { settings, resources } = options.configuration;
  const { serviceName } = resources;
  const telemetry = options.telemetry ?? createPowertoolsTelemetry({ serviceName, ...settings });
  const clock = systemClock;
  const cells = makeCells({
    clock,
    telemetry,
    settings,
    serviceName,
    cells: options.cells ?? 1,
    concurrency: options.concurrency ?? 1,
    spare: options.spare,
  });
  const connection = connectWorker({ ...options, telemetry });
  const heart = createHeartLoop({
    ...connection,
    onFailure: ({ jobId, attempt }, error) =>
      telemetry.warn('heartbeat failed', {
        jobId,
        attempt,
        reason: error instanceof Error ? error.message : String(error),
      }),
  });
  return {
    ...connection,
    heart,
    cells,
    crashThrottle: createCrashThrottle(clock, telemetry),
    async close() {
      await heart.close();
      await cells.close();
      await connection.close();
    },
  };
}
