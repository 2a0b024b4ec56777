import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Schedules } from '../../client/schedules/schedule.ts';

/** While a local stack runs, this file below its folder tells other terminals where it is. */
export const LOCAL_STATE_FILE = join('.cache', 'leasehold-dev.json');

export interface LocalState {
  readonly pid: number;
  readonly tableName: string;
  readonly queueUrl: string;
  readonly consoleUrl: string;
  readonly environment: Readonly<Record<string, string>>;
  /** Recurring jobs, as they were when the stack was started. */
  readonly schedules?: Schedules;
  /** The types of the user's jobs module. */
  readonly types?: readonly string[];
}

/** Writes the file for its owner alone, because the console's link has its token; returns how to remove it. */
export function writeStateFile(directory: string, state: LocalState): () => void {
  const file = join(directory, LOCAL_STATE_FILE);
  const draft = `${file}.${state.pid}`;
  mkdirSync(dirname(file), { recursive: true });
  // The mode counts only for a file that is made: what is there may be readable by all, or somebody's link.
  rmSync(draft, { force: true });
  writeFileSync(draft, `${JSON.stringify(state, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  // At one stroke: another terminal that looks just now must not find half of it.
  renameSync(draft, file);
  return () => {
    // Another stack may have been started here since.
    if (isMine(file, state.pid)) rmSync(file, { force: true });
  };
}

/** Marks a folder of kept data as this process's, and returns how to leave it; where another has it, returns that one's process. */
export function takeDataFolder(folder: string): (() => void) | number {
  const file = join(folder, DATA_OWNER_FILE);
  mkdirSync(folder, { recursive: true });
  const owner = livingPidIn(file);
  if (owner !== undefined) return owner;
  rmSync(file, { force: true });
  try {
    writeFileSync(file, `${JSON.stringify({ pid: process.pid })}\n`, { flag: 'wx' });
  } catch (error) {
    // Somebody was quicker.
    const quicker = livingPidIn(file);
    if (quicker === undefined) throw error;
    return quicker;
  }
  return () => {
    if (isMine(file, process.pid)) rmSync(file, { force: true });
  };
}

/** Beside the data of table and queues. */
export const DATA_OWNER_FILE = 'leasehold-dev.json';

/** The process of another local stack that runs in this folder, if there is one. */
export const otherStackIn = (directory: string): number | undefined =>
  livingPidIn(join(directory, LOCAL_STATE_FILE));

function livingPidIn(file: string): number | undefined {
  const pid = pidIn(file);
  if (pid === undefined || pid === process.pid) return undefined;
  try {
    process.kill(pid, 0);
    return pid;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? pid : undefined;
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
