import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { connect } from '../../aws/connect.ts';
import { createOperatorEvents } from '../../aws/operator-events.ts';
import { allShards } from '../../protocol/shards.ts';
import { allLeases } from '../../protocol/store/all-leases.ts';
import { SettingsError } from '../../settings/settings-error.ts';
import { packageFolder } from '../../this-package.ts';
import { LeaseholdError } from '../../wire/leasehold-error.ts';
import { onStopSignals } from '../../worker/hosts/stop-signals.ts';
import type { BundlingOptions } from '../bundle/bundling.ts';
import { type JobsModule, readJobsModule } from '../bundle/read-jobs-module.ts';
import { startConsole } from '../console/start-console.ts';
import { checkTools } from './check-tools.ts';
import { commandLine, workLine } from './command-line.ts';
import { type Report, runFirstMinute } from './demo/first-minute.ts';
import { startFlakyService } from './demo/flaky-service.ts';
import { demoSettings } from './demo/settings.ts';
import { createPrinter, introduction, summary } from './demo/show.ts';
import type { DynamoDbEngineName } from './engines/dynamodb-engine.ts';
import { localConsole } from './local-console.ts';
import { type AwsOfHandlers, localEnvironment, readEnvFile } from './local-environment.ts';
import { type LocalPools, unknownTypeProblems } from './local-pools.ts';
import { localPorts, rememberPorts } from './local-ports.ts';
import { logLineOf, rowWithReason } from './log-lines.ts';
import { type LocalStack, startLocalStack } from './stack.ts';
import { DATA_OWNER_FILE, otherStackIn, takeDataFolder, writeStateFile } from './state-file.ts';
import { watchJobs } from './watch-jobs.ts';

export interface DevOptions {
  readonly jobs?: string;
  readonly pools?: LocalPools;
  readonly bundling?: BundlingOptions;
  readonly once?: boolean;
  readonly quiet?: boolean;
  /** Whether to send the demo jobs. @default - true without a jobs module */
  readonly demo?: boolean;
  readonly data?: string;
  readonly engine?: DynamoDbEngineName;
  /** Variables for handlers; those of the shell win. @default .env, where there is one */
  readonly envFile?: string;
  readonly aws?: AwsOfHandlers;
  /** 0 if you run your own worker. @default 4 */
  readonly workers?: number;
  /** Port of the console; the engines take the next three. @default those of the last run in this folder, else free ones */
  readonly port?: number;
  readonly directory?: string;
  readonly output?: NodeJS.WriteStream;
  readonly signal?: AbortSignal;
}

/** Only the published package has the demo's worker prebuilt with its libraries. */
const isBundled = (): boolean => existsSync(join(packageFolder, 'functions', 'worker', 'index.mjs'));
const DEMO_SAMPLE = { type: 'count-primes', sample: { below: 5_000_000 } };
/** Shows workers in the console at once and avoids a cold start for the first job. */
const WARM_WORKERS = 2;
/** A shell's exit code for an interrupted command. */
const INTERRUPTED = 130;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export async function runDev(options: DevOptions = {}): Promise<number> {
  const output = options.output ?? process.stdout;
  const { jobs, workers, demo = jobs === undefined && workers !== 0 } = options;
  const { directory = process.cwd() } = options;
  const stopping = new AbortController();
  let isUp = false;
  // During startup, and on a second press, exit at once: the child processes end with this one.
  let presses = 0;
  const stop = () => (isUp && ++presses === 1 ? stopping.abort() : process.exit(INTERRUPTED));
  const stopListening = onStopSignals(SIGNALS, stop);
  options.signal?.addEventListener('abort', () => stopping.abort());
  const print = createPrinter(output);
  const ends: (() => unknown)[] = [];
  try {
    refuseSecond(directory);
    await checkTools({ ...options, bundles: jobs !== undefined || !isBundled() }, process.env);
    if (options.data !== undefined) ends.push(ownDataFolder(options.data));
    const ports = await localPorts(directory, options.port);
    const stack = await startLocalStack({
      settings: demoSettings,
      jobs,
      pools: options.pools,
      bundling: options.bundling,
      warm: Math.min(WARM_WORKERS, workers ?? WARM_WORKERS),
      workers,
      engine: options.engine,
      dataDir: options.data,
      aws: options.aws,
      workerEnvironment: { ...readEnvFile(directory, options.envFile), ...process.env },
      keyDir: join(directory, '.cache'),
      ports,
    });
    ends.push(stack.stop);
    const { types, schedules } = await moduleOf(stack, options);
    refuseUnknownTypes(options, types);
    stack.schedule(schedules);
    const parts = await openParts(stack, { ...options, directory, port: ports.console }, ends, types);
    isUp = true;
    stack.listen(async (event) => {
      if (options.quiet && event.kind !== 'problem') return;
      const row = rowWithReason(event);
      const job = row === undefined ? undefined : await parts.store.read(row).catch(() => undefined);
      const line = logLineOf(event, job?.lastError);
      if (line !== undefined && !stopping.signal.aborted) print(line);
    });
    output.write(`${introduction(stack, parts.console.url, { ...options, types })}\n`);
    if (jobs !== undefined) ends.push(watchJobs(stack, jobs, print, parts.writeState));
    let code = 0;
    if (demo) {
      const report = await firstMinute(stack, parts, print, stopping.signal, ends);
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
    for (const end of ends.reverse()) await end();
    stopListening();
  }
}

/** Commands find a stack by its folder, so a second one would hide the first. */
function refuseSecond(directory: string): void {
  const pid = otherStackIn(directory);
  if (pid === undefined) return;
  throw new LeaseholdError(
    'ALREADY_RUNNING',
    `'leasehold dev' already runs in this folder (process ${pid}); stop that one, or start this one in another folder`,
  );
}

/** Two stacks would corrupt shared data. */
function ownDataFolder(folder: string): () => void {
  const taken = takeDataFolder(folder);
  if (typeof taken === 'function') return taken;
  throw new LeaseholdError(
    'ALREADY_RUNNING',
    `another 'leasehold dev' keeps its data in '${folder}' (process ${taken}); stop that one, or give this one another --data. If that process is something else, delete '${join(folder, DATA_OWNER_FILE)}'`,
  );
}

async function moduleOf(
  stack: LocalStack,
  { jobs, workers }: DevOptions,
): Promise<Pick<JobsModule, 'types' | 'schedules'>> {
  if (jobs === undefined || stack.jobsBundle === undefined)
    return { types: workers === 0 ? [] : [DEMO_SAMPLE], schedules: {} };
  return readJobsModule(stack.jobsBundle, stack.workerEnvironment);
}

function refuseUnknownTypes({ pools = {} }: DevOptions, types: JobsModule['types']): void {
  const problems = unknownTypeProblems(
    pools,
    types.map(({ type }) => type),
  );
  if (problems.length > 0) throw new SettingsError(problems);
}

function sendLine([first]: JobsModule['types']): string {
  const { type, sample } = first ?? { type: 'TYPE', sample: {} };
  return `${commandLine} send ${type} '${JSON.stringify(sample)}'`;
}

/** Jobs running at the stop resume in the next run and are not charged a crash. */
async function takeBackRunning(stack: LocalStack, { store, table }: Parts): Promise<void> {
  for (const worker of stack.workers()) stack.signal(worker.pid, 'kill');
  const shards = allShards(stack.settings.shards).running;
  for await (const { entry } of allLeases(table, { shards, pageSize: 100 }))
    if (entry !== undefined) await store.takeBack(entry.jobId);
}

type Parts = Awaited<ReturnType<typeof openParts>>;

async function openParts(
  stack: LocalStack,
  options: DevOptions & { readonly directory: string },
  ends: (() => unknown)[],
  types: JobsModule['types'],
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
  const store = aws.storeOf('console');
  const view = localConsole(stack, aws);
  const page = await startConsole({
    ...view,
    store,
    events: createOperatorEvents({
      bus: 'default',
      service: tableName,
      config: { ...config, endpoint: environment.AWS_ENDPOINT_URL_EVENTBRIDGE },
    }),
    send: () => sendLine(types),
    work: options.workers === 0 ? workLine : undefined,
    port: options.port,
  });
  ends.push(page.stop);
  const { directory } = options;
  rememberPorts(directory, {
    console: page.url,
    dynamodb: endpoints.dynamodb,
    sqs: endpoints.sqs,
    eventbridge: environment.AWS_ENDPOINT_URL_EVENTBRIDGE,
  });
  const writeState = () =>
    writeStateFile(directory, {
      pid: process.pid,
      tableName,
      queueUrl,
      consoleUrl: page.url,
      environment,
      schedules: stack.schedules(),
    });
  ends.push(writeState());
  return { store, table: view.table, queue: view.queue, console: page, writeState };
}

async function firstMinute(
  stack: LocalStack,
  { store, queue }: Parts,
  print: (line: string) => void,
  signal: AbortSignal,
  ends: (() => unknown)[],
): Promise<Report> {
  const service = await startFlakyService();
  ends.push(service.stop);
  return runFirstMinute({ stack, store, queue, signal, serviceUrl: service.endpoint, print });
}
