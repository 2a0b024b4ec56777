import { join } from 'node:path';
import { systemClock } from '../../aws/clock.ts';
import { createDynamoDbClient } from '../../aws/dynamodb/client.ts';
import { createJobsTable } from '../../aws/dynamodb/create-jobs-table.ts';
import { createSqsClient } from '../../aws/sqs/client.ts';
import { createSqsQueue } from '../../aws/sqs/sqs-queue.ts';
import type { Schedules } from '../../client/schedules/schedule.ts';
import { scheduleProblems } from '../../client/schedules/schedule-problems.ts';
import { resolveSettings, type Settings } from '../../settings/settings.ts';
import { SettingsError } from '../../settings/settings-error.ts';
import type { WorkerAction } from '../console/page-messages.ts';
import { type Bundles, buildBundles } from './bundles.ts';
import { createLocalQueues } from './create-local-queues.ts';
import type { DynamoDbEngineName } from './engines/dynamodb-engine.ts';
import { type BusEvent, startEventBus } from './event-bus.ts';
import { type LocalFunctionName, localFunctions, startFunctions } from './functions.ts';
import type { HostEvent, SandboxView } from './lambda-host/lambda-function.ts';
import { localEnvironment } from './local-environment.ts';
import { startScheduler } from './scheduler.ts';
import { type Endpoints, startEngines } from './start-engines.ts';

/** What to run on this machine, and on which engine. */
export interface LocalStackOptions {
  /** Settings that differ from the defaults. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Names table, queues and functions. @default leasehold */
  readonly name?: string;
  /** @default the first that can run here */
  readonly engine?: DynamoDbEngineName;
  /** Keeps table and queues here. @default everything stays in memory */
  readonly dataDir?: string;
  /** Ports for the engines. @default free ones */
  readonly ports?: { readonly dynamodb?: number; readonly sqs?: number };
  /** Worker processes at the same time. @default 4 */
  readonly workers?: number;
  /** Workers that start at once, as provisioned concurrency does. @default 0: the first jobs start them */
  readonly warm?: number;
  /** Your jobs module: the worker runs its types. @default - the demo's */
  readonly jobs?: string;
  /** Recurring jobs, as the construct takes them. @default - none */
  readonly schedules?: Schedules;
  /** Source files of functions, in place of Leasehold's own. */
  readonly entries?: Partial<Readonly<Record<LocalFunctionName, string>>>;
  /** Where endpoints, region and credentials may be given. @default process.env */
  readonly surroundings?: Readonly<Record<string, string | undefined>>;
}

/** What a local stack tells its listeners. */
export type StackEvent = HostEvent | { readonly kind: 'bus'; readonly event: BusEvent } | StackProblem;

/** Something that the host could not do and works around, such as a poll that failed. */
interface StackProblem {
  readonly kind: 'problem';
  readonly message: string;
}

/** The whole system on this machine: table, queues, workers, reaper, dead-letter consumer. */
export interface LocalStack {
  readonly settings: Settings;
  readonly tableName: string;
  readonly queueUrl: string;
  readonly deadLetterQueueUrl: string;
  readonly endpoints: Endpoints;
  /** Every variable with which functions, CLI and plain AWS clients find this stack. */
  readonly environment: Readonly<Record<string, string>>;
  /** The bundle of the jobs module by itself; undefined where there is none. */
  readonly jobsBundle: string | undefined;
  /** The recurring jobs. */
  schedules(): Schedules;
  /** Goes on with these recurring jobs. Throws a `SettingsError` for those that could not run. */
  schedule(schedules: Schedules): void;
  workers(): readonly SandboxView[];
  /** The user's files that the worker was made from. */
  sources(): readonly string[];
  /** Makes the worker anew from its sources. Jobs that run go on to their end in the old one. */
  reload(): Promise<void>;
  /** What can be done to a worker's process; false where there is none with this id. */
  signal(pid: number, action: WorkerAction): boolean;
  /** Hears of everything that happens in the functions; returns how to stop listening. */
  listen(listener: (event: StackEvent) => void): () => void;
  stop(): Promise<void>;
}

const DEFAULT_NAME = 'leasehold';
const DEFAULT_WORKERS = 4;

/** What was started, in order, so that it can be stopped in the opposite one. */
type Started = (() => unknown)[];

/** Starts the stack and resolves once it takes jobs. A start that fails stops what it had started. */
export async function startLocalStack(options: LocalStackOptions = {}): Promise<LocalStack> {
  const listeners = new Set<(event: StackEvent) => void>();
  const started: Started = [];
  const stop = async () => {
    // Errors that are caused by stopping are not reported.
    listeners.clear();
    for (const end of started.splice(0).reverse()) await end();
  };
  const emit = (event: StackEvent) => {
    for (const listener of listeners) listener(event);
  };
  const listen = (listener: (event: StackEvent) => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  try {
    return { ...(await startParts(options, started, emit)), listen, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startParts(
  options: LocalStackOptions,
  started: Started,
  emit: (event: StackEvent) => void,
): Promise<Omit<LocalStack, 'listen' | 'stop'>> {
  const { name = DEFAULT_NAME, workers = DEFAULT_WORKERS } = options;
  const settings = resolveSettings({ workerConcurrency: Math.max(2, workers), ...options.settings });
  const { schedules: given = {} } = options;
  refuseBadSchedules(given, settings);
  const bundling = buildBundles(localFunctions, options);
  started.push(async () => (await bundling.catch((): Pick<Bundles, 'remove'> => ({ remove() {} }))).remove());
  const { endpoints, environment, queues, sqs } = await startServices(options, name, settings, started, emit);
  const bundles = await bundling;
  const functions = startFunctions({
    ...{ name, workers, settings, environment, queues, sqs, bundles },
    warm: options.warm ?? 0,
    observe: emit,
    onProblem: (message) => emit({ kind: 'problem', message }),
  });
  started.push(functions.stop);
  const scheduler = startScheduler({
    schedules: given,
    queue: createSqsQueue({ client: sqs, queueUrl: queues.queue.url, clock: systemClock }),
    clock: systemClock,
    onProblem: (message) => emit({ kind: 'problem', message }),
  });
  started.push(scheduler.stop);
  return {
    settings,
    tableName: name,
    queueUrl: queues.queue.url,
    deadLetterQueueUrl: queues.deadLetterQueue.url,
    endpoints,
    environment,
    jobsBundle: options.jobs === undefined ? undefined : join(bundles.folder('jobs'), 'index.mjs'),
    sources: bundles.sources,
    async reload() {
      await bundles.rebuild();
      await functions.worker.replaceAll();
    },
    schedules: scheduler.schedules,
    schedule(schedules) {
      refuseBadSchedules(schedules, settings);
      scheduler.replace(schedules);
    },
    workers: () => functions.worker.sandboxes(),
    signal(pid, action) {
      const sandbox = functions.worker.find(pid);
      sandbox?.[action]();
      return sandbox !== undefined;
    },
  };
}

/** Engines and event bus, with the table and the queues in them. */
async function startServices(
  options: LocalStackOptions,
  name: string,
  settings: Settings,
  started: Started,
  emit: (event: StackEvent) => void,
) {
  const { surroundings = process.env } = options;
  const [{ endpoints }, bus] = await Promise.all([
    startEngines(options, surroundings).then((engines) => {
      started.push(engines.stop);
      return engines;
    }),
    startEventBus((event) => emit({ kind: 'bus', event })).then((eventBus) => {
      started.push(eventBus.stop);
      return eventBus;
    }),
  ]);
  const aws = localEnvironment.aws({ ...endpoints, eventbridge: bus.endpoint }, surroundings);
  const clientConfig = localEnvironment.clientConfig(aws);
  const sqs = createSqsClient({ ...clientConfig, endpoint: endpoints.sqs });
  started.push(() => sqs.destroy());
  const config = { ...clientConfig, endpoint: endpoints.dynamodb };
  const dynamodb = createDynamoDbClient({ clock: systemClock, config });
  const [queues] = await Promise.all([
    createLocalQueues(sqs, name, settings),
    createJobsTable(dynamodb, name).finally(() => dynamodb.destroy()),
  ]);
  const own = localEnvironment.own({ tableName: name, queueUrl: queues.queue.url, name }, settings);
  return { endpoints, environment: { ...aws, ...own }, queues, sqs };
}

function refuseBadSchedules(schedules: Schedules, settings: Settings): void {
  const problems = scheduleProblems(schedules, settings);
  if (problems.length > 0) throw new SettingsError(problems);
}
