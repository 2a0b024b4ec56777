import { dirname, join } from 'node:path';
import { isOnAws } from '../../../aws/sqs/queue-age.ts';
import { defined } from '../../../wire/defined.ts';
import { resourceVariables } from '../../../wire/environment.ts';
import {
  isAlive,
  LOCAL_STATE_FILE,
  type LocalState,
  onlyKnownVariables,
  readStateFile,
} from '../../dev/state-file.ts';
import { CliError } from '../cli-error.ts';

export interface SystemOptions {
  readonly service?: string;
  readonly table?: string;
  readonly queueUrl?: string;
  readonly region?: string;
  readonly json?: boolean;
  readonly wide?: boolean;
}

export interface FoundSystem {
  readonly tableName: string;
  readonly queueUrl?: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly consoleUrl?: string;
}

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
      environment: withOptions(environment, options),
      // A shell may have the variables of the local stack.
      consoleUrl: isOnAws(queueUrl || 'https:') ? undefined : consoleOf(queueUrl, directory),
    };
  const local = findLocalState(directory);
  if (local === undefined) throw new CliError(howToName(options));
  return {
    tableName: local.tableName,
    queueUrl: options.queueUrl ?? local.queueUrl,
    // Local engines must win, because a developer's shell often has variables of a real account.
    environment: withOptions({ ...environment, ...local.environment }, options),
    consoleUrl: local.consoleUrl,
  };
}

function consoleOf(queueUrl: string | undefined, directory: string): string | undefined {
  const local = findLocalState(directory);
  return local?.queueUrl === queueUrl ? local?.consoleUrl : undefined;
}

const howToName = (options: SystemOptions): string =>
  [
    `No jobs table is named${options.queueUrl === undefined ? '' : ' (only a queue)'}. Do one of these:`,
    `  for a deployed stack: --service NAME, or export ${resourceVariables.serviceName}`,
    '                        (an output of the stack; region and credentials come from the usual AWS settings)',
    "  on this machine:      start the local stack with 'leasehold dev' in this folder or above it",
  ].join('\n');

function withOptions(
  environment: Readonly<Record<string, string | undefined>>,
  options: SystemOptions,
): Record<string, string | undefined> {
  return { ...environment, ...defined({ AWS_REGION: options.region }) };
}

export function findLocalState(directory: string): LocalState | undefined {
  const state = readLocalState(join(directory, LOCAL_STATE_FILE));
  const above = dirname(directory);
  return state ?? (above === directory ? undefined : findLocalState(above));
}

/** Undefined if the stack no longer runs. */
function readLocalState(file: string): LocalState | undefined {
  let state: Partial<LocalState>;
  try {
    const text = readStateFile(file);
    if (text === undefined) return undefined;
    state = JSON.parse(text) as Partial<LocalState>;
  } catch (cause) {
    const why = (cause as Error).message;
    throw new CliError(`${file} cannot be used (${why}); delete it and start 'leasehold dev' again`, 2, {
      cause,
    });
  }
  const { pid = 0, tableName, queueUrl, consoleUrl = '', environment = {}, schedules } = state;
  if (typeof tableName !== 'string' || typeof queueUrl !== 'string')
    throw new CliError(`${file} names no table or no queue; delete it and start 'leasehold dev' again`);
  // A killed stack could not remove its file.
  if (pid !== 0 && !isAlive(pid)) return undefined;
  const known = onlyKnownVariables(environment);
  return { pid, tableName, queueUrl, consoleUrl, schedules, environment: known };
}
