import { spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GetQueueAttributesCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { systemClock, systemRandom } from '../../lib/aws/clock.ts';
import type { Clock, JobStore, Table } from '../../lib/protocol/ports.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { runCli } from '../../lib/tools/cli/run-cli.ts';
import type { Terminal } from '../../lib/tools/cli/terminal/terminal.ts';
import { createQueue, type SharedDynamoDb, sqsClient, sqsEndpoint } from './engines.ts';
import { openJobsTable } from './jobs-table.ts';

/** What one run of the command line left behind. */
export interface CliRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  /** Stdout as the JSON document that it should be. */
  json<T = Record<string, unknown>>(): T;
}

export interface CliRunOptions {
  readonly input?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly clock?: Clock;
  /** The answer to questions; undefined means that nobody is there. */
  readonly answer?: boolean;
  readonly interrupted?: AbortSignal;
  readonly directory?: string;
  readonly columns?: number;
  readonly hasColors?: boolean;
}

const asRun = (code: number, stdout: string, stderr: string): CliRun => ({
  code,
  stdout,
  stderr,
  json: () => JSON.parse(stdout),
});

/** A folder in which nobody started a local stack. */
const emptyDirectory = mkdtempSync(join(tmpdir(), 'leasehold-cli-'));

/** Runs the command line in this process, with a terminal made of strings. */
export async function runInProcess(args: readonly string[], options: CliRunOptions = {}): Promise<CliRun> {
  const written = { stdout: '', stderr: '' };
  const terminal: Terminal = {
    write: (text) => {
      written.stdout += text;
    },
    erase: (lines) => {
      written.stdout += `<erase ${lines}>`;
    },
    note: (text) => {
      written.stderr += text;
    },
    input: (async function* () {
      yield options.input ?? '';
    })(),
    environment: options.environment ?? {},
    directory: options.directory ?? emptyDirectory,
    isInteractive: options.answer !== undefined,
    isScreen: false,
    hasColors: options.hasColors ?? false,
    columns: options.columns ?? Number.POSITIVE_INFINITY,
    rows: 40,
    noteHasColors: options.hasColors ?? false,
    noteColumns: options.columns ?? Number.POSITIVE_INFINITY,
    timeZone: 'UTC',
    clock: options.clock ?? systemClock,
    random: systemRandom,
    interrupted: options.interrupted ?? new AbortController().signal,
    ask: async (question) => {
      written.stderr += `${question}\n`;
      return options.answer === true;
    },
    outliveReader: () => () => false,
  };
  const code = await runCli(args, terminal);
  return asRun(code, written.stdout, written.stderr);
}

const bin = join(import.meta.dirname, '..', '..', 'bin', 'leasehold.ts');

/** Nothing that says where a system is, and what makes processes start sooner. */
export function bareEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  return { PATH, HOME, NODE_COMPILE_CACHE };
}

/** Runs the command line as its users do: a process of its own. `started` is called with the process once it runs. */
export function runProcess(
  args: readonly string[],
  options: CliRunOptions & {
    readonly started?: (child: { kill(signal: NodeJS.Signals): void }) => void;
  } = {},
): Promise<CliRun> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [bin, ...args], {
      cwd: options.directory ?? emptyDirectory,
      env: { ...bareEnvironment(), TZ: 'UTC', ...options.environment },
    });
    let stdout = '';
    let stderr = '';
    child.stdout.on('data', (chunk) => {
      if (stdout === '') options.started?.({ kill: (signal) => child.kill(signal) });
      stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      stderr += chunk;
    });
    child.on('error', reject);
    child.on('close', (code) => resolve(asRun(code ?? -1, stdout, stderr)));
    child.stdin.end(options.input ?? '');
  });
}

/** A system of its own on shared engines, with ways to bring jobs into any state. */
export interface CliSystem {
  readonly tableName: string;
  readonly queueUrl: string;
  readonly deadLetterUrl: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly table: Table;
  readonly store: JobStore;
  readonly sqs: SQSClient;
  /** Runs in this process. */
  run(args: readonly string[], options?: CliRunOptions): Promise<CliRun>;
  /** Runs as a process. */
  spawn(args: readonly string[], options?: Parameters<typeof runProcess>[1]): Promise<CliRun>;
  put(row: Row): Promise<void>;
  close(): Promise<void>;
}

export async function createCliSystem(
  engine: SharedDynamoDb,
  clock: Clock = systemClock,
): Promise<CliSystem> {
  const jobs = await openJobsTable(engine.endpoint, clock);
  const { tableName } = jobs;
  const sqs = sqsClient(sqsEndpoint());
  const deadLetterUrl = await createQueue(sqs, { MessageRetentionPeriod: '1209600' });
  const arn = await arnOf(sqs, deadLetterUrl);
  const queueUrl = await createQueue(sqs, {
    VisibilityTimeout: '960',
    RedrivePolicy: JSON.stringify({ deadLetterTargetArn: arn, maxReceiveCount: 10 }),
  });
  const environment = {
    LEASEHOLD_TABLE_NAME: tableName,
    LEASEHOLD_QUEUE_URL: queueUrl,
    AWS_REGION: 'eu-west-1',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
    AWS_ENDPOINT_URL_DYNAMODB: engine.endpoint,
    AWS_ENDPOINT_URL_SQS: sqsEndpoint(),
  };
  const table = jobs.at();
  const within = (options: CliRunOptions = {}) => ({
    clock,
    ...options,
    environment: { ...environment, ...options.environment },
  });
  return {
    ...{ tableName, queueUrl, deadLetterUrl, environment, table, sqs },
    store: createJobStore({ table, clock, random: systemRandom, settings: defaultSettings, actor: 'test' }),
    run: (args, options) => runInProcess(args, within(options)),
    spawn: (args, options) => runProcess(args, { ...options, ...within(options) }),
    put: jobs.put,
    async close() {
      sqs.destroy();
      await jobs.close();
    },
  };
}

async function arnOf(sqs: SQSClient, queueUrl: string): Promise<string> {
  const reply = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: queueUrl, AttributeNames: ['QueueArn'] }),
  );
  return reply.Attributes?.QueueArn ?? '';
}
