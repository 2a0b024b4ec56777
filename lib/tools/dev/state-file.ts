import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Schedules } from '../../client/schedules/schedule.ts';
import { leaseholdVariables } from '../../settings/environment.ts';

export const LOCAL_STATE_FILE = join('.cache', 'leasehold-dev.json');

export interface LocalState {
  readonly pid: number;
  readonly tableName: string;
  readonly queueUrl: string;
  readonly consoleUrl: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly schedules?: Schedules;
}

const AWS_VARIABLES = [
  ...['AWS_REGION', 'AWS_DEFAULT_REGION'],
  ...['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN'],
  ...['AWS_ENDPOINT_URL_DYNAMODB', 'AWS_ENDPOINT_URL_SQS', 'AWS_ENDPOINT_URL_EVENTBRIDGE'],
];

/** Other variables, such as NODE_OPTIONS, could change the processes that get them. */
export const onlyKnownVariables = (environment: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).filter(
      (entry): entry is [string, string] =>
        typeof entry[1] === 'string' && [...AWS_VARIABLES, ...leaseholdVariables].includes(entry[0]),
    ),
  );

/** Undefined without a file; throws if another user may have written it. */
export function readStateFile(file: string): string | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(file, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    // Checks the open file, because the path may be replaced.
    for (const [path, { uid, mode }] of [
      [dirname(file), statSync(dirname(file))],
      [file, fstatSync(descriptor)],
    ] as const) {
      const user = process.getuid?.() ?? uid;
      if (uid !== user)
        throw new Error(`${path} belongs to user ${uid}, and this process runs as user ${user}`);
      if (process.getuid !== undefined && (mode & OTHERS_MAY_WRITE) !== 0)
        throw new Error(`any user can write to ${path}; run 'chmod o-w' on it`);
    }
    return readFileSync(descriptor, 'utf8');
  } finally {
    closeSync(descriptor);
  }
}

const OTHERS_MAY_WRITE = 0o002;

/** Readable by its owner only, because the console's link contains its token; returns a function that removes it. */
export function writeStateFile(directory: string, state: LocalState): () => void {
  const file = join(directory, LOCAL_STATE_FILE);
  const draft = `${file}.${state.pid}`;
  mkdirSync(dirname(file), { recursive: true, mode: 0o755 });
  // `mode` applies only to new files, and an existing one may be a link or readable by all.
  rmSync(draft, { force: true });
  writeFileSync(draft, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  // Atomic, so that other terminals never read half a file.
  renameSync(draft, file);
  return () => {
    if (isMine(file, state.pid)) rmSync(file, { force: true });
  };
}

export function takeDataFolder(folder: string): (() => void) | number {
  const file = join(folder, DATA_OWNER_FILE);
  mkdirSync(folder, { recursive: true });
  const owner = livingPidIn(file);
  if (owner !== undefined) return owner;
  rmSync(file, { force: true });
  try {
    writeFileSync(file, `${JSON.stringify({ pid: process.pid })}\n`, { flag: 'wx' });
  } catch (error) {
    // Another process was faster.
    const quicker = livingPidIn(file);
    if (quicker === undefined) throw error;
    return quicker;
  }
  return () => {
    if (isMine(file, process.pid)) rmSync(file, { force: true });
  };
}

export const DATA_OWNER_FILE = 'leasehold-dev.json';

export const otherStackIn = (directory: string): number | undefined =>
  livingPidIn(join(directory, LOCAL_STATE_FILE));

function livingPidIn(file: string): number | undefined {
  const pid = pidIn(file);
  return pid !== undefined && pid !== process.pid && isAlive(pid) ? pid : undefined;
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function pidIn(file: string): number | undefined {
  try {
    const { pid } = JSON.parse(readFileSync(file, 'utf8')) as Partial<LocalState>;
    return typeof pid === 'number' && pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}

const isMine = (file: string, pid: number): boolean => pidIn(file) === pid;
