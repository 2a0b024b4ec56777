import type { SQSClient } from '@aws-sdk/client-sqs';
import type { Settings } from '../../settings/settings.ts';
import { poolVariables, reaperVariables } from '../../wire/environment.ts';
import { DEFAULT_POOL } from '../../wire/pools.ts';
import {
  DEAD_LETTER_BATCH_SIZE,
  DEAD_LETTER_TIMEOUT_SECONDS,
  REAPER_TIMEOUT_SECONDS,
  WAKE_BATCH_SIZE,
} from '../../wire/queues.ts';
import type { Bundles } from './bundles.ts';
import type { LocalQueues } from './create-local-queues.ts';
import { type EventSourceMapping, startEventSourceMapping } from './lambda-host/event-source-mapping.ts';
import { type HostEvent, LambdaFunction } from './lambda-host/lambda-function.ts';
import { startTicker, type Ticker } from './lambda-host/ticker.ts';
import type { LocalPools } from './local-pools.ts';

export const localFunctions = ['worker', 'reaper', 'dead-letter'] as const;
export type LocalFunctionName = (typeof localFunctions)[number];

/** One from a wake, and one from the schedule. */
const REAPERS = 2;
const DEAD_LETTER_CONSUMERS = 2;
const WORKER_MEMORY_MB = 512;

interface FunctionsOptions {
  readonly name: string;
  readonly workers: number;
  readonly warm: number;
  readonly settings: Settings;
  readonly environment: Readonly<Record<string, string>>;
  readonly workerEnvironment: Readonly<Record<string, string>>;
  readonly queues: LocalQueues;
  readonly pools: LocalPools;
  readonly sqs: SQSClient;
  readonly bundles: Bundles;
  readonly observe: (event: HostEvent) => void;
  readonly onProblem: (message: string) => void;
}

type Functions = Readonly<Record<'worker' | 'reaper' | 'deadLetter', LambdaFunction>> & {
  readonly pools: Readonly<Record<string, LambdaFunction>>;
};

export function startFunctions(options: FunctionsOptions) {
  const functions = createFunctions(options);
  const { worker, reaper, deadLetter, pools } = functions;
  const workers = [worker, ...Object.values(pools)];
  const onError = (what: string) => (error: unknown) =>
    options.onProblem(`${what}: ${error instanceof Error ? error.message : String(error)}`);
  const sources = [...startMappings(functions, options, onError), startTicks(functions, options)];
  void worker.warm(options.warm).catch(onError('a worker could not be started'));
  return {
    workers,
    async stop(): Promise<void> {
      const stopped = sources.map((source) => source.stop());
      // Processes end first, because a source waits for its invocations.
      await Promise.all([...workers, reaper, deadLetter].map((each) => each.stop()));
      await Promise.all(stopped);
    },
  };
}

function createFunctions(options: FunctionsOptions): Functions {
  const lambda = (
    name: LocalFunctionName,
    limits: { readonly timeoutMs: number; readonly concurrency: number; readonly memoryMb?: number },
    environment: Readonly<Record<string, string>> = options.environment,
    pool?: string,
  ) =>
    new LambdaFunction({
      functionName: [options.name, pool, name].filter(Boolean).join('-'),
      pool,
      codeDir: options.bundles.folder(name),
      handler: 'index.handler',
      environment,
      observe: options.observe,
      ...limits,
    });
  const worker = (pool?: string) =>
    lambda(
      'worker',
      {
        timeoutMs: options.settings.functionTimeoutMs,
        concurrency: options.workers,
        memoryMb: WORKER_MEMORY_MB,
      },
      { ...options.workerEnvironment, [poolVariables.pool]: pool ?? DEFAULT_POOL },
      pool,
    );
  const pools = Object.entries(options.pools).filter(([, { compute }]) => compute === 'lambda');
  return {
    worker: worker(),
    pools: Object.fromEntries(pools.map(([name]) => [name, worker(name)])),
    reaper: lambda(
      'reaper',
      { timeoutMs: REAPER_TIMEOUT_SECONDS * 1000, concurrency: REAPERS },
      { ...options.environment, [reaperVariables.wakeQueueUrl]: options.queues.wakeQueue.url },
    ),
    deadLetter: lambda('dead-letter', {
      timeoutMs: DEAD_LETTER_TIMEOUT_SECONDS * 1000,
      concurrency: DEAD_LETTER_CONSUMERS,
    }),
  };
}

function startMappings(
  { worker, reaper, deadLetter, pools }: Functions,
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
    ...Object.entries(pools).flatMap(([name, fn]) => {
      const queue = queues.pools[name];
      return queue === undefined ? [] : [feed(fn, queue, `${name} pool's`, { batchSize, batchWindowMs })];
    }),
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
