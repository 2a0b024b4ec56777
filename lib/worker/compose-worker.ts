import { systemClock } from '../aws/clock.ts';
import type { AwsOptions } from '../aws/connect.ts';
import { connectDeployed } from '../aws/connect-deployed.ts';
import { createPowertoolsTelemetry, type PowertoolsTelemetry } from '../aws/telemetry.ts';
import { createControlReader } from '../protocol/limits/control.ts';
import type { Configuration } from '../settings/environment.ts';
import type { Cells, CellsOptions } from './cells/cells.ts';
import { createCells, type Handlers } from './cells/create-cells.ts';
import { createClockCheck } from './intake/clock-check.ts';
import { createCrashThrottle } from './run/crash-throttle.ts';
import { createHeartLoop } from './run/heart-loop.ts';

export interface WorkerConnectOptions {
  /** @internal */
  readonly configuration: Configuration;
  /** The worker's name in rows and log lines. @default - host name, process ID and a random suffix */
  readonly worker?: string;
  /** @default - the AWS SDK's standard chain */
  readonly dynamodb?: AwsOptions;
  /** @default - region and credentials of `dynamodb` */
  readonly sqs?: AwsOptions;
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

export type ComposedWorker = ReturnType<typeof composeHost>;

export const composeWorker = (options: ComposeOptions): ComposedWorker =>
  composeHost(options, (given) => createCells(options.handlers, given));

/** Starts the cells first because they take longest. */
export function composeHost(options: HostOptions, makeCells: (options: CellsOptions) => Cells) {
  const { configuration, dynamodb, sqs } = options;
  const { settings, resources } = configuration;
  const { serviceName } = resources;
  const telemetry = options.telemetry ?? createPowertoolsTelemetry({ serviceName, ...settings });
  const cells = makeCells({
    clock: systemClock,
    telemetry,
    settings,
    serviceName,
    cells: options.cells ?? 1,
    concurrency: options.concurrency ?? 1,
    spare: options.spare,
  });
  const aws = connectDeployed({ configuration, actor: options.worker, telemetry, dynamodb, sqs });
  const control = createControlReader(aws);
  // Any reply carries the time, and the intake needs this row anyway.
  const askTheTime = () => control.current(0);
  const clockCheck = createClockCheck({ ...aws, guard: aws.clockGuard, askTheTime });
  const heart = createHeartLoop({
    ...aws,
    clockCheck,
    onFailure: ({ jobId, attempt }, error) =>
      telemetry.warn('heartbeat failed', {
        jobId,
        attempt,
        reason: error instanceof Error ? error.message : String(error),
      }),
  });
  return {
    ...aws,
    worker: aws.actor,
    control,
    clockCheck,
    heart,
    cells,
    crashThrottle: createCrashThrottle(systemClock, telemetry),
    async close(): Promise<void> {
      await heart.close();
      await cells.close();
      aws.close();
    },
  };
}
