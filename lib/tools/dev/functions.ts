import type { SQSClient } from '@aws-sdk/client-sqs';
import type { Settings } from '../../settings/settings.ts';
import { reaperVariables } from '../../wire/environment.ts';
import {
  DEAD_LETTER_BATCH_SIZE,
  DEAD_LETTER_TIMEOUT_SECONDS,
  REAPER_TIMEOUT_SECONDS,
  WAKE_BATCH_SIZE,
} from '../../wire/queues.ts';
import type { Bundles } from './bundles.ts';
import type { LocalQueues } from './create-local-queues.ts';
import { type EventSourceMapping, startEventSourceMapping } from './lambda-host/event-source-mapping.ts';
import { createLambdaFunction, type HostEvent, type LambdaFunction } from './lambda-host/lambda-function.ts';
import { startTicker, type Ticker } from './lambda-host/ticker.ts';

/** The functions of the stack, by the folders that they are in. */
export const localFunctions = ['worker', 'reaper', 'dead-letter'] as const;
export type LocalFunctionName = (typeof localFunctions)[number];

/** The one that was woken, and one that the schedule starts meanwhile. */
const REAPERS = 2;
const DEAD_LETTER_CONSUMERS = 2;
const WORKER_MEMORY_MB = 512;

export interface RunningFunctions {
  readonly worker: LambdaFunction;
  stop(): Promise<void>;
}

interface FunctionsOptions {
  readonly name: string;
  readonly workers: number;
  /** Workers that are started before there is anything to do. */
  readonly warm: number;
  readonly settings: Settings;
  readonly environment: Readonly<Record<string, string>>;
  readonly queues: LocalQueues;
  readonly sqs: SQSClient;
  readonly bundles: Bundles;
  readonly observe: (event: HostEvent) => void;
  readonly onProblem: (message: string) => void;
}

type Functions = Readonly<Record<'worker' | 'reaper' | 'deadLetter', LambdaFunction>>;

/** Puts the bundles into the host and connects them as the stack does: queues, schedule. */
export function startFunctions(options: FunctionsOptions): RunningFunctions {
  const functions = createFunctions(options);
  const { worker } = functions;
  const onError = (what: string) => (error: unknown) =>
    options.onProblem(`${what}: ${error instanceof Error ? error.message : String(error)}`);
  const sources = [...startMappings(functions, options, onError), startTicks(functions, options)];
  void worker.warm(options.warm).catch(onError('a worker could not be started'));
  return {
    worker,
    async stop() {
      const stopped = sources.map((source) => source.stop());
      // The processes end first: a source waits for the invocations that it started.
      await Promise.all(Object.values(functions).map((each) => each.stop()));
      await Promise.all(stopped);
    },
  };
}

function createFunctions(options: FunctionsOptions): Functions {
  const lambda = (
    name: LocalFunctionName,
    limits: { readonly timeoutMs: number; readonly concurrency: number; readonly memoryMb?: number },
    variables: Readonly<Record<string, string>> = {},
  ) =>
    createLambdaFunction({
      functionName: `${options.name}-${name}`,
      codeDir: options.bundles.folder(name),
      handler: 'index.handler',
      environment: { ...options.environment, ...variables },
      observe: options.observe,
      ...limits,
    });
  return {
    worker: lambda('worker', {
      timeoutMs: options.settings.functionTimeoutMs,
      concurrency: options.workers,
      memoryMb: WORKER_MEMORY_MB,
    }),
    reaper: lambda(
      'reaper',
      { timeoutMs: REAPER_TIMEOUT_SECONDS * 1000, concurrency: REAPERS },
      { [reaperVariables.wakeQueueUrl]: options.queues.wakeQueue.url },
    ),
    deadLetter: lambda('dead-letter', {
      timeoutMs: DEAD_LETTER_TIMEOUT_SECONDS * 1000,
      concurrency: DEAD_LETTER_CONSUMERS,
    }),
  };
}

function startMappings(
  { worker, reaper, deadLetter }: Functions,
  { settings, queues, sqs }: FunctionsOptions,
  onError: (what: string) => (error: unknown) => void,
): EventSourceMapping[] {
  const feed = (
    target: LambdaFunction,
    queue: LocalQueues['queue'],
    name: string,
    batch: Pick<Settings, 'batchSize' | 'batchWindowMs'>,
  ) =>
    startEventSourceMapping({
      client: sqs,
      queueUrl: queue.url,
      queueArn: queue.arn,
      target,
      ...batch,
      onError: onError(`the ${name} queue could not be polled`),
    });
  const { batchSize, batchWindowMs } = settings;
  return [
    feed(worker, queues.queue, 'job', { batchSize, batchWindowMs }),
    feed(deadLetter, queues.deadLetterQueue, 'dead-letter', {
      batchSize: DEAD_LETTER_BATCH_SIZE,
      batchWindowMs: 0,
    }),
    feed(reaper, queues.wakeQueue, 'wake', { batchSize: WAKE_BATCH_SIZE, batchWindowMs: 0 }),
  ];
}

const startTicks = ({ reaper }: Functions, { settings, onProblem }: FunctionsOptions): Ticker =>
  startTicker({
    target: reaper,
    everyMs: settings.reaperIntervalMs,
    onFailure: (result) => {
      if (result.outcome === 'functionError') onProblem(`the reaper failed: ${result.failure.errorMessage}`);
    },
  });
