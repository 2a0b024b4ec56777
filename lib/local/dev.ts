import { join } from 'node:path';
import { connect } from '../aws/connect.ts';
import { createTableInspection } from '../aws/dynamodb/table-inspection.ts';
import { startConsole } from '../console/start-console.ts';
import { libFolder, moduleExtension } from '../this-package.ts';
import { consoleWorkers } from './console-workers.ts';
import { type Report, runFirstMinute } from './demo/first-minute.ts';
import { startFlakyService } from './demo/flaky-service.ts';
import { demoSettings } from './demo/settings.ts';
import { createShow, introduction, summary } from './demo/show.ts';
import type { DynamoDbEngineName } from './engines/dynamodb-engine.ts';
import { localEnvironment } from './local-environment.ts';
import { type LocalStack, startLocalStack } from './stack.ts';
import { writeStateFile } from './state-file.ts';

export interface DevOptions {
  /** Ends after the first minute, with 0 only if every job ended as it should. */
  readonly once?: boolean;
  /** Sends no jobs of its own. */
  readonly quiet?: boolean;
  /** Keeps table and queues here between runs. @default everything stays in memory */
  readonly data?: string;
  readonly engine?: DynamoDbEngineName;
  /** @default 4 */
  readonly workers?: number;
  /** The console's port. @default a free one */
  readonly port?: number;
  /** A worker of your own: a file that exports `handler`. @default the examples */
  readonly worker?: string;
  /** Where the file that other terminals find this stack by is written. @default the current folder */
  readonly directory?: string;
  readonly output?: NodeJS.WriteStream;
  /** Ends the run, as Ctrl-C does. */
  readonly signal?: AbortSignal;
}

const DEMO_WORKER = join(libFolder, 'local', 'demo', `worker${moduleExtension}`);
/** Somebody to look at in the console from the start, and no cold start before the first job. */
const WARM_WORKERS = 2;
/** The exit code by which shells tell that a command was interrupted. */
const INTERRUPTED = 130;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs the whole system on this machine until it is stopped; resolves to the exit code. */
export async function runDev(options: DevOptions = {}): Promise<number> {
  const output = options.output ?? process.stdout;
  const stopping = new AbortController();
  const stop = () => stopping.abort();
  // Who cannot wait presses Ctrl-C again; the processes go with this one.
  let presses = 0;
  const onSignal = () => (++presses > 1 ? process.exit(INTERRUPTED) : stop());
  for (const signal of SIGNALS) process.on(signal, onSignal);
  options.signal?.addEventListener('abort', stop);
  const show = createShow(output);
  const ends: (() => unknown)[] = [];
  try {
    const stack = await startLocalStack({
      settings: demoSettings,
      entries: { worker: options.worker ?? DEMO_WORKER },
      warm: WARM_WORKERS,
      workers: options.workers,
      engine: options.engine,
      dataDir: options.data,
    });
    ends.push(stack.stop);
    stack.listen((event) => {
      if (event.kind === 'problem' && !stopping.signal.aborted) show.say(event.message);
    });
    const parts = await openParts(stack, options, ends);
    // What had to be bundled is bundled; its service would stay in memory.
    void import('esbuild').then(({ stop }) => stop()).catch(() => {});
    output.write(`${introduction(stack, parts.console.url)}\n`);
    let code = 0;
    if (!options.quiet) {
      const report = await firstMinute(stack, parts, show, stopping.signal, ends);
      show.endBars();
      if (!stopping.signal.aborted) output.write(`${summary(report, performance.timeOrigin)}\n`);
      if (options.once && !report.isAsExpected) code = 1;
    }
    if (!options.once && !stopping.signal.aborted) {
      output.write('  Kill, pause and resume workers in the console. Ctrl-C stops everything.\n\n');
      await new Promise((resolve) => stopping.signal.addEventListener('abort', resolve));
    }
    return code;
  } finally {
    show.endBars();
    for (const end of ends.reverse()) await end();
    for (const signal of SIGNALS) process.removeListener(signal, onSignal);
  }
}

type Parts = Awaited<ReturnType<typeof openParts>>;

/** The clients of this process, the console on them, and the file by which other terminals find the stack. */
async function openParts(stack: LocalStack, options: DevOptions, ends: (() => unknown)[]) {
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
  const page = await startConsole({
    tableName,
    table,
    store,
    settings,
    clock,
    queue,
    scan: createTableInspection({ client: aws.dynamoDb, tableName }).scan,
    local: consoleWorkers(stack),
    port: options.port,
  });
  ends.push(page.stop);
  const directory = options.directory ?? process.cwd();
  ends.push(
    writeStateFile(directory, { pid: process.pid, tableName, queueUrl, consoleUrl: page.url, environment }),
  );
  return { store, queue, console: page };
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
