import type { SQSClient } from '@aws-sdk/client-sqs';
import type { Settings } from '../settings/settings.ts';
import { reaperVariables } from '../wire/environment.ts';
import {
  DEAD_LETTER_BATCH_SIZE,
  DEAD_LETTER_TIMEOUT_SECONDS,
  REAPER_TIMEOUT_SECONDS,
  WAKE_BATCH_SIZE,
} from '../wire/queues.ts';
import type { Bundles } from './bundles.ts';
import type { LocalQueues } from './create-local-queues.ts';
import { startEventSourceMapping } from './lambda-host/event-source-mapping.ts';
import { createLambdaFunction, type HostEvent, type LambdaFunction } from './lambda-host/lambda-function.ts';
import { startSchedule } from './lambda-host/schedule.ts';

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

/** Puts the bundles into the host and connects them as the stack does: queues, schedule. */
export function startFunctions(options: {
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
}): RunningFunctions {
  const { settings, queues, sqs, onProblem } = options;
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
  const worker = lambda('worker', {
    timeoutMs: settings.functionTimeoutMs,
    concurrency: options.workers,
    memoryMb: WORKER_MEMORY_MB,
  });
  const reaper = lambda(
    'reaper',
    { timeoutMs: REAPER_TIMEOUT_SECONDS * 1000, concurrency: REAPERS },
    { [reaperVariables.wakeQueueUrl]: queues.wakeQueue.url },
  );
  const deadLetter = lambda('dead-letter', {
    timeoutMs: DEAD_LETTER_TIMEOUT_SECONDS * 1000,
    concurrency: DEAD_LETTER_CONSUMERS,
  });
  const onError = (what: string) => (error: unknown) =>
    onProblem(`${what}: ${error instanceof Error ? error.message : String(error)}`);
  const sources = [
    startEventSourceMapping({
      client: sqs,
      queueUrl: queues.queue.url,
      queueArn: queues.queue.arn,
      target: worker,
      batchSize: settings.batchSize,
      batchWindowMs: settings.batchWindowMs,
      onError: onError('the job queue could not be polled'),
    }),
    startEventSourceMapping({
      client: sqs,
      queueUrl: queues.deadLetterQueue.url,
      queueArn: queues.deadLetterQueue.arn,
      target: deadLetter,
      batchSize: DEAD_LETTER_BATCH_SIZE,
      batchWindowMs: 0,
      onError: onError('the dead-letter queue could not be polled'),
    }),
    startEventSourceMapping({
      client: sqs,
      queueUrl: queues.wakeQueue.url,
      queueArn: queues.wakeQueue.arn,
      target: reaper,
      batchSize: WAKE_BATCH_SIZE,
      batchWindowMs: 0,
      onError: onError('the wake queue could not be polled'),
    }),
    startSchedule({
      target: reaper,
      everyMs: settings.reaperIntervalMs,
      onFailure: (result) => {
        if (result.outcome === 'functionError')
          onProblem(`the reaper failed: ${result.failure.errorMessage}`);
      },
    }),
  ];
  void worker.warm(options.warm).catch(onError('a worker could not be started'));
  return {
    worker,
    async stop() {
      const stopped = sources.map((source) => source.stop());
      // The processes end first: a source waits for the invocations that it started.
      await Promise.all([worker, reaper, deadLetter].map((each) => each.stop()));
      await Promise.all(stopped);
    },
  };
}
