import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Schedules } from '../../client/schedules/schedule.ts';
import { libFolder, moduleExtension } from '../../this-package.ts';
import type { JsonValue } from '../../wire/message.ts';
import { JobsModuleError } from '../../worker/cells/jobs-module-error.ts';

/** What a jobs module has. */
export interface JobsModule {
  readonly types: readonly JobTypeSample[];
  readonly schedules: Schedules;
}

export interface JobTypeSample {
  readonly type: string;
  /** A payload to try the type with. */
  readonly sample: JsonValue;
}

const PROGRAM = join(libFolder, 'tools', 'dev', `read-jobs${moduleExtension}`);

/**
 * Loads the bundle of a jobs module in a process of its own and tells its types and schedules. What is wrong with the module is thrown with
 * the stack that the user's file has: else a worker would die of it where nobody looks.
 */
export async function readJobsModule(
  bundle: string,
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<JobsModule> {
  const child = spawn(process.execPath, ['--enable-source-maps', PROGRAM, bundle], {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [said, wrong, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null, string | null]>,
  ]);
  const last = said.trim().split('\n').at(-1) ?? '';
  if (code === 0 && last.startsWith('{"types":')) return JSON.parse(last) as JobsModule;
  const problem = wrong.replaceAll(`jobs module ${bundle}: `, '').trim();
  throw new JobsModuleError(
    file,
    problem || `it ended the process that loaded it (${signal ?? `exit code ${code}`}) before it was loaded`,
  );
}
