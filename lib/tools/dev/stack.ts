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
import { DEFAULT_POOL, queueUrlFor, type Routing } from '../../wire/pools.ts';
import { CELL } from '../bundle/bundle.ts';
import type { BundlingOptions } from '../bundle/bundling.ts';
import { type JobsModule, readJobsModule, type WorkerBundle } from '../bundle/read-jobs-module.ts';
import type { WorkerAction } from '../console/page-messages.ts';
import { type Bundles, buildBundles } from './bundles.ts';
import { startContainers } from './containers.ts';
import { createLocalQueues } from './create-local-queues.ts';
import type { DynamoDbEngineName } from './engines/dynamodb-engine.ts';
import { type BusEvent, startEventBus } from './event-bus.ts';
import { type LocalFunctionName, localFunctions, startFunctions } from './functions.ts';
import type { HostEvent, SandboxView } from './lambda-host/lambda-function.ts';
import { type AwsOfHandlers, localAccessKey, localEnvironment } from './local-environment.ts';
import { type LocalPools, localPoolProblems, routesOf } from './local-pools.ts';
import type { LocalPorts } from './local-ports.ts';
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
  /** Keeps table and queues in this folder. @default in memory */
  readonly dataDir?: string;
  /** Keeps the access key of the engines here. @default `dataDir` */
  readonly keyDir?: string;
  /** @default free ones */
  readonly ports?: LocalPorts;
  /** Maximum worker processes. @default 4 */
  readonly workers?: number;
  /** Workers started in advance, like provisioned concurrency. @default 0 */
  readonly warm?: number;
  /** Your jobs module. @default - the demo's */
  readonly jobs?: string;
  /** Queues and workers for some of its types. @default - one queue, and functions for all types */
  readonly pools?: LocalPools;
  /** How the jobs module is bundled, as the construct takes it. @default - all of it */
  readonly bundling?: BundlingOptions;
  /** Recurring jobs, as the construct takes them. @default - none */
  readonly schedules?: Schedules;
  /** Source files that replace Leasehold's own functions. */
  readonly entries?: Partial<Readonly<Record<LocalFunctionName, string>>>;
  /** Variables for handlers, which also see `surroundings`. @default - none */
  readonly workerEnvironment?: Readonly<Record<string, string | undefined>>;
  /** AWS settings of handlers: `local` for those of this stack, `mine` for those of `surroundings`. @default local */
  readonly aws?: AwsOfHandlers;
  /** Source of endpoints, region and credentials. @default process.env */
  readonly surroundings?: Readonly<Record<string, string | undefined>>;
}

/** An event of a local stack. */
export type StackEvent = HostEvent | { readonly kind: 'bus'; readonly event: BusEvent } | StackProblem;

/** A failure that the host works around, such as a failed poll. */
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
  /** The queues of the pools; undefined without pools. */
  readonly routing: Routing | undefined;
  readonly endpoints: Endpoints;
  /** Every variable by which functions, CLI and AWS clients find this stack. */
  readonly environment: Readonly<Record<string, string>>;
  /** Every variable that handlers see. */
  readonly workerEnvironment: Readonly<Record<string, string>>;
  /** The bundle of the jobs module; undefined if there is none. */
  readonly jobsBundle: WorkerBundle | undefined;
  schedules(): Schedules;
  /** Replaces the recurring jobs. Throws a `SettingsError` if they cannot run. */
  schedule(schedules: Schedules): void;
  workers(): readonly SandboxView[];
  /** The user's files behind the worker. */
  sources(): readonly string[];
  /** Rebuilds the worker of the jobs module. Running jobs finish in the old one. Throws, and keeps the old one, if the module cannot be loaded. */
  reload(): Promise<JobsModule>;
  /** Returns false if no worker has this process id. */
  signal(pid: number, action: WorkerAction): boolean;
  /** Listens to everything in the functions; returns a function that stops. */
  listen(listener: (event: StackEvent) => void): () => void;
  stop(): Promise<void>;
}

const DEFAULT_NAME = 'leasehold';
const DEFAULT_WORKERS = 4;

type Started = (() => unknown)[];

/** Starts the stack and resolves once it takes jobs. A failed start stops what it had started. */
export async function startLocalStack(options: LocalStackOptions = {}): Promise<LocalStack> {
  const listeners = new Set<(event: StackEvent) => void>();
  const started: Started = [];
  const stop = async () => {
    // Hides errors caused by stopping.
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
  const settings = resolveSettings(
    { workerConcurrency: Math.max(2, workers), ...options.settings },
    { allowShortTimes: true },
  );
  const { schedules: given = {}, pools = {}, jobs = '', bundling: bundledWith } = options;
  const problems = localPoolProblems(pools, options.jobs);
  if (problems.length > 0) throw new SettingsError(problems);
  refuseBadSchedules(given, settings);
  const bundling = buildBundles(localFunctions, options);
  // It may fail while the engines start, and before anything awaits it.
  bundling.catch(() => {});
  started.push(async () => (await bundling.catch((): Pick<Bundles, 'remove'> => ({ remove() {} }))).remove());
  const { endpoints, environment, queues, routing, sqs } = await startServices(
    options,
    name,
    settings,
    started,
    emit,
  );
  const bundles = await bundling;
  const { surroundings = process.env } = options;
  const seen = { ...surroundings, ...options.workerEnvironment };
  const workerEnvironment = localEnvironment.worker(environment, seen, options.aws ?? 'local');
  const functions = startFunctions({
    name,
    workers,
    settings,
    environment,
    workerEnvironment,
    queues,
    pools,
    sqs,
    bundles,
    warm: options.warm ?? 0,
    observe: emit,
    onProblem: (message) => emit({ kind: 'problem', message }),
  });
  started.push(functions.stop);
  const containers =
    workers === 0
      ? []
      : startContainers(pools, {
          name,
          jobs,
          loader: bundledWith?.loader,
          environment: workerEnvironment,
          observe: emit,
        });
  started.push(() => Promise.all(containers.map((each) => each.stop())));
  const hosts = [...functions.workers, ...containers];
  const scheduler = startScheduler({
    schedules: given,
    queue: createSqsQueue({
      client: sqs,
      queueUrl: queues.queue.url,
      clock: systemClock,
      urlFor: routing && ((type) => queueUrlFor(queues.queue.url, routing.pools, type)),
    }),
    clock: systemClock,
    onProblem: (message) => emit({ kind: 'problem', message }),
  });
  started.push(scheduler.stop);
  const jobsBundle = { cell: join(bundles.folder('worker'), CELL), jobs, bundling: bundledWith };
  return {
    settings,
    tableName: name,
    queueUrl: queues.queue.url,
    deadLetterQueueUrl: queues.deadLetterQueue.url,
    routing,
    endpoints,
    environment,
    workerEnvironment,
    jobsBundle: options.jobs === undefined ? undefined : jobsBundle,
    sources: bundles.sources,
    async reload() {
      const module = await bundles.rebuild((folder) =>
        readJobsModule({ ...jobsBundle, cell: join(folder, CELL) }, workerEnvironment),
      );
      await Promise.all(hosts.map((each) => each.replaceAll()));
      return module;
    },
    schedules: scheduler.schedules,
    schedule(schedules) {
      refuseBadSchedules(schedules, settings);
      scheduler.replace(schedules);
    },
    workers: () => hosts.flatMap((each) => each.sandboxes()),
    signal(pid, action) {
      const sandbox = hosts.map((each) => each.find(pid)).find(Boolean);
      sandbox?.[action]();
      return sandbox !== undefined;
    },
  };
}

async function startServices(
  options: LocalStackOptions,
  name: string,
  settings: Settings,
  started: Started,
  emit: (event: StackEvent) => void,
) {
  const { surroundings = process.env, pools = {} } = options;
  const gate = { accessKeyId: localAccessKey(surroundings, options.dataDir ?? options.keyDir) };
  const [{ endpoints }, bus] = await Promise.all([
    startEngines(options, gate, surroundings).then((engines) => {
      started.push(engines.stop);
      return engines;
    }),
    startEventBus((event) => emit({ kind: 'bus', event }), gate, options.ports?.eventbridge).then(
      (eventBus) => {
        started.push(eventBus.stop);
        return eventBus;
      },
    ),
  ]);
  const aws = localEnvironment.aws(
    { ...endpoints, eventbridge: bus.endpoint },
    surroundings,
    gate.accessKeyId,
  );
  const clientConfig = localEnvironment.clientConfig(aws);
  const sqs = createSqsClient({ ...clientConfig, endpoint: endpoints.sqs });
  started.push(() => sqs.destroy());
  const config = { ...clientConfig, endpoint: endpoints.dynamodb };
  const dynamodb = createDynamoDbClient({ clock: systemClock, config });
  const [queues] = await Promise.all([
    createLocalQueues(sqs, name, settings, Object.keys(pools)),
    createJobsTable(dynamodb, name).finally(() => dynamodb.destroy()),
  ]);
  const routing =
    Object.keys(pools).length === 0
      ? undefined
      : { pool: DEFAULT_POOL, pools: routesOf(pools, (pool) => queues.pools[pool]?.url ?? '') };
  const own = localEnvironment.own({ tableName: name, queueUrl: queues.queue.url, name }, settings, routing);
  return { endpoints, environment: { ...aws, ...own }, queues, routing, sqs };
}

function refuseBadSchedules(schedules: Schedules, settings: Settings): void {
  const problems = scheduleProblems(schedules, settings);
  if (problems.length > 0) throw new SettingsError(problems);
}
