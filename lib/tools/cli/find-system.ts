import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { defined } from '../../wire/defined.ts';
import { resourceVariables } from '../../wire/environment.ts';
import { LOCAL_STATE_FILE, type LocalState } from '../dev/state-file.ts';
import { CliError } from './cli-error.ts';

/** Options of every command that works on a deployed or local system. */
export interface SystemOptions {
  readonly table?: string;
  readonly queueUrl?: string;
  readonly region?: string;
  readonly dynamodbEndpoint?: string;
  readonly sqsEndpoint?: string;
  readonly json?: boolean;
  readonly wide?: boolean;
}

/** Where a system is: its resources, and the variables by which clients reach it and settings are read. */
export interface FoundSystem {
  readonly tableName: string;
  readonly queueUrl?: string;
  readonly foundBy: 'options' | 'environment' | 'local stack';
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The job types that its workers have, where they are known. */
  readonly types?: readonly string[];
}

/** Looks at the options, then the environment, then for a local stack; throws an error that says what to do when there is none. */
export function findSystem(
  options: SystemOptions,
  environment: Readonly<Record<string, string | undefined>>,
  directory: string,
): FoundSystem {
  const queueUrl = options.queueUrl ?? environment[resourceVariables.queueUrl];
  const tableName = options.table ?? environment[resourceVariables.tableName];
  if (tableName)
    return {
      tableName,
      queueUrl: queueUrl || undefined,
      foundBy: options.table === undefined ? 'environment' : 'options',
      environment: withOptions(environment, options),
    };
  const local = findLocalState(directory);
  if (local === undefined) throw new CliError(howToName(options));
  return {
    tableName: local.tableName,
    queueUrl: options.queueUrl ?? local.queueUrl,
    foundBy: 'local stack',
    // The local engines must win: a developer's shell often has the variables of a real account.
    environment: withOptions({ ...environment, ...local.environment }, options),
    types: local.types,
  };
}

const howToName = (options: SystemOptions): string =>
  [
    `No jobs table is named${options.queueUrl === undefined ? '' : ' (only a queue)'}. Do one of these:`,
    `  for a deployed stack: --table NAME --queue-url URL, or export ${resourceVariables.tableName} and ${resourceVariables.queueUrl}`,
    '                        (both are outputs of the stack; region and credentials come from the usual AWS settings)',
    "  on this machine:      start the local stack with 'leasehold dev' in this folder or above it",
  ].join('\n');

function withOptions(
  environment: Readonly<Record<string, string | undefined>>,
  options: SystemOptions,
): Record<string, string | undefined> {
  return {
    ...environment,
    ...defined({
      AWS_REGION: options.region,
      AWS_ENDPOINT_URL_DYNAMODB: options.dynamodbEndpoint,
      AWS_ENDPOINT_URL_SQS: options.sqsEndpoint,
    }),
  };
}

/** The local stack that runs in this folder or in the nearest one above it. */
export function findLocalState(directory: string): LocalState | undefined {
  const state = readLocalState(join(directory, LOCAL_STATE_FILE));
  const above = dirname(directory);
  return state ?? (above === directory ? undefined : findLocalState(above));
}

/** The state of the local stack that was started in this folder, if it still runs. */
function readLocalState(file: string): LocalState | undefined {
  if (!existsSync(file)) return undefined;
  let state: Partial<LocalState>;
  try {
    state = JSON.parse(readFileSync(file, 'utf8')) as Partial<LocalState>;
  } catch (cause) {
    throw new CliError(`${file} cannot be read; delete it and start 'leasehold dev' again`, 2, { cause });
  }
  const { pid = 0, tableName, queueUrl, consoleUrl = '', environment = {}, schedules, types } = state;
  if (typeof tableName !== 'string' || typeof queueUrl !== 'string')
    throw new CliError(`${file} names no table or no queue; delete it and start 'leasehold dev' again`);
  // A stack that was killed could not remove its file.
  return pid === 0 || isAlive(pid)
    ? { pid, tableName, queueUrl, consoleUrl, environment, schedules, types }
    : undefined;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** What the SDK clients need of these variables; what is not set is left to the SDK's own chain. */
export function clientConfig(
  environment: Readonly<Record<string, string | undefined>>,
  service: 'DYNAMODB' | 'SQS' | 'EVENTBRIDGE' | 'SCHEDULER' | 'CLOUDWATCH',
) {
  const region = environment.AWS_REGION ?? environment.AWS_DEFAULT_REGION;
  const endpoint = environment[`AWS_ENDPOINT_URL_${service}`] ?? environment.AWS_ENDPOINT_URL;
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = environment;
  const sessionToken = environment.AWS_SESSION_TOKEN;
  return defined({
    region: region || undefined,
    endpoint: endpoint || undefined,
    credentials:
      accessKeyId && secretAccessKey
        ? { accessKeyId, secretAccessKey, sessionToken: sessionToken || undefined }
        : undefined,
  });
}
