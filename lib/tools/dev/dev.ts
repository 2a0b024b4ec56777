import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '../../aws/connect.ts';
import { createTableInspection } from '../../aws/dynamodb/table-inspection.ts';
import { createOperatorEvents } from '../../aws/operator-events.ts';
import { describeQueue } from '../../aws/sqs/queue-inspection.ts';
import { unknownJob } from '../../client/look-up.ts';
import { allShards } from '../../protocol/shards.ts';
import { allLeases } from '../../protocol/store/all-leases.ts';
import { packageFolder } from '../../this-package.ts';
import { LeaseholdError } from '../../wire/leasehold-error.ts';
import { onStopSignals } from '../../worker/hosts/stop-signals.ts';
import { startConsole } from '../console/start-console.ts';
import { checkTools } from './check-tools.ts';
import { consoleWorkers } from './console-workers.ts';
import { type Report, runFirstMinute } from './demo/first-minute.ts';
import { startFlakyService } from './demo/flaky-service.ts';
import { demoSettings } from './demo/settings.ts';
import { createShow, introduction, summary } from './demo/show.ts';
import type { DynamoDbEngineName } from './engines/dynamodb-engine.ts';
import { localEnvironment } from './local-environment.ts';
import { type JobsModule, readJobsModule } from './read-jobs-module.ts';
import { speechOf } from './speech.ts';
import { type LocalStack, startLocalStack } from './stack.ts';
import { DATA_OWNER_FILE, otherStackIn, takeDataFolder, writeStateFile } from './state-file.ts';
import { watchJobs } from './watch-jobs.ts';

export interface DevOptions {
  /** Your jobs module. @default - the demo jobs */
  readonly jobs?: string;
  /** Ends after the first minute, with 0 only if every job ended as it should. */
  readonly once?: boolean;
  /** Says nothing of jobs, logs and errors. */
  readonly quiet?: boolean;
  /** Whether jobs are sent to show the first minute. @default true, unless there is a jobs module */
  readonly demo?: boolean;
  /** Keeps table and queues here between runs. @default everything stays in memory */
  readonly data?: string;
  readonly engine?: DynamoDbEngineName;
  /** 0 for those who run a worker of their own. @default 4 */
  readonly workers?: number;
  /** The console's port. @default a free one */
  readonly port?: number;
  /** Where the file that other terminals find this stack by is written. @default the current folder */
  readonly directory?: string;
  readonly output?: NodeJS.WriteStream;
  /** Ends the run, as Ctrl-C does. */
  readonly signal?: AbortSignal;
}

/** The published package has a worker of these, bundled with the libraries that only they use. */
const isBundled = (): boolean => existsSync(join(packageFolder, 'functions', 'worker', 'index.mjs'));
const DEMO_SAMPLE = { type: 'count-primes', sample: { below: 5_000_000 } };
/** Somebody to look at in the console from the start, and no cold start before the first job. */
const WARM_WORKERS = 2;
/** The exit code by which shells tell that a command was interrupted. */
const INTERRUPTED = 130;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs the whole system on this machine until it is stopped; resolves to the exit code. */
export async function runDev(options: DevOptions = {}): Promise<number> {
  const output = options.output ?? process.stdout;
  const { jobs, workers, demo = jobs === undefined && workers !== 0 } = options;
  const stopping = new AbortController();
  let isUp = false;
  // Before everything is up there is nothing to end in order, and who presses twice cannot wait: the processes go with this one.
  let presses = 0;
  const stop = () => (isUp && ++presses === 1 ? stopping.abort() : process.exit(INTERRUPTED));
  const stopListening = onStopSignals(SIGNALS, stop);
  options.signal?.addEventListener('abort', () => stopping.abort());
  const show = createShow(output);
  const ends: (() => unknown)[] = [];
  try {
    refuseSecond(options.directory ?? process.cwd());
    await checkTools({ ...options, bundles: jobs !== undefined || !isBundled() }, process.env);
    if (options.data !== undefined) ends.push(ownDataFolder(options.data));
    const stack = await startLocalStack({
      settings: demoSettings,
      jobs,
      warm: Math.min(WARM_WORKERS, workers ?? WARM_WORKERS),
      workers,
      engine: options.engine,
      dataDir: options.data,
    });
    ends.push(stack.stop);
    const { types, schedules } = await moduleOf(stack, options);
    stack.schedule(schedules);
    const parts = await openParts(stack, options, ends, jobs === undefined ? undefined : namesOf(types));
    isUp = true;
    stack.listen((event) => {
      const said = options.quiet && event.kind !== 'problem' ? undefined : speechOf(event);
      if (said !== undefined && !stopping.signal.aborted) show.say(said);
    });
    output.write(`${introduction(stack, parts.console.url, { types, workers })}\n`);
    if (jobs !== undefined)
      ends.push(watchJobs(stack, jobs, show.say, ({ types }) => parts.writeState(namesOf(types))));
    let code = 0;
    if (demo) {
      const report = await firstMinute(stack, parts, show, stopping.signal, ends);
      show.endBars();
      if (!stopping.signal.aborted) output.write(`${summary(report, performance.timeOrigin)}\n`);
      if (options.once && !report.isAsExpected) code = 1;
    }
    if (!options.once && !stopping.signal.aborted) {
      output.write(
        `  ${workers === 0 ? '' : 'Kill, pause and resume workers in the console. '}Ctrl-C stops everything.\n\n`,
      );
      await new Promise((resolve) => stopping.signal.addEventListener('abort', resolve));
      if (options.data !== undefined) await takeBackRunning(stack, parts);
    }
    return code;
  } finally {
    show.endBars();
    for (const end of ends.reverse()) await end();
    stopListening();
  }
}

/** Commands find a stack by its folder: a second one there would hide the first. */
function refuseSecond(directory: string): void {
  const pid = otherStackIn(directory);
  if (pid === undefined) return;
  throw new LeaseholdError(
    'ALREADY_RUNNING',
    `'leasehold dev' runs in this folder already (process ${pid}); stop that one, or start this one in another folder`,
  );
}

/** Two stacks on the same data would spoil it. */
function ownDataFolder(folder: string): () => void {
  const taken = takeDataFolder(folder);
  if (typeof taken === 'function') return taken;
  throw new LeaseholdError(
    'ALREADY_RUNNING',
    `another 'leasehold dev' keeps its data in '${folder}' (process ${taken}); stop that one, or give this one another --data. If that process is something else, delete '${join(folder, DATA_OWNER_FILE)}'`,
  );
}

/** What the jobs module has; throws what is wrong with it. Of the demo's types, the one that is worth sending. */
async function moduleOf(stack: LocalStack, { jobs, workers }: DevOptions): Promise<JobsModule> {
  if (jobs === undefined || stack.jobsBundle === undefined)
    return { types: workers === 0 ? [] : [DEMO_SAMPLE], schedules: {} };
  return readJobsModule(stack.jobsBundle, jobs, stack.environment);
}

const namesOf = (types: JobsModule['types']): string[] => types.map(({ type }) => type);

/** What runs when the user stops goes on in the next run, and is not charged a crash for it. */
async function takeBackRunning(stack: LocalStack, { store, table }: Parts): Promise<void> {
  for (const worker of stack.workers()) stack.signal(worker.pid, 'kill');
  const shards = allShards(stack.settings.shards).running;
  for await (const { entry } of allLeases(table, { shards, pageSize: 100 }))
    if (entry !== undefined) await store.takeBack(entry.jobId);
}

type Parts = Awaited<ReturnType<typeof openParts>>;

/** The clients of this process, the console on them, and the file by which other terminals find the stack. */
async function openParts(
  stack: LocalStack,
  options: DevOptions,
  ends: (() => unknown)[],
  known: readonly string[] | undefined,
) {
  const { settings, tableName, queueUrl, endpoints, environment } = stack;
  const config = localEnvironment.clientConfig(environment);
  const aws = connect({
    tableName,
    settings,
    dynamodb: { ...config, endpoint: endpoints.dynamodb },
    sqs: { ...config, endpoint: endpoints.sqs },
  });
  ends.push(aws.close);
  const { table, clock } = aws;
  const store = aws.storeOf('console');
  const queue = aws.queueAt(queueUrl);
  // Nobody tells how old a stand-in's messages are.
  const asked = { found: { tableName, queueUrl }, sqs: aws.sqs, queueAge: async () => undefined };
  const page = await startConsole({
    tableName,
    table,
    store,
    settings,
    clock,
    queue,
    events: createOperatorEvents({
      ...{ bus: 'default', service: tableName },
      config: { ...config, endpoint: environment.AWS_ENDPOINT_URL_EVENTBRIDGE },
    }),
    scan: createTableInspection({ client: aws.dynamoDb, tableName }).scan,
    queueDepth: () => describeQueue(aws.sqs, queueUrl),
    tellUnknown: async (jobId) => (await unknownJob(asked, jobId)).says,
    local: consoleWorkers(stack, options.workers !== 0),
    port: options.port,
  });
  ends.push(page.stop);
  const directory = options.directory ?? process.cwd();
  const writeState = (types: readonly string[] | undefined) =>
    writeStateFile(directory, {
      ...{ pid: process.pid, tableName, queueUrl, consoleUrl: page.url, environment },
      schedules: stack.schedules(),
      types,
    });
  ends.push(writeState(known));
  return { store, table, queue, console: page, writeState };
}

async function firstMinute(
  stack: LocalStack,
  { store, queue }: Parts,
  show: ReturnType<typeof createShow>,
  signal: AbortSignal,
  ends: (() => unknown)[],
): Promise<Report> {
  const service = await startFlakyService();
  ends.push(service.stop);
  return runFirstMinute({
    ...{ stack, store, queue, signal },
    serviceUrl: service.url,
    onScene: show.scene,
    say: show.say,
  });
}
