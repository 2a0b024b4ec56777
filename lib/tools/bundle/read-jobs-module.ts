import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Schedules } from '../../client/schedules/schedule.ts';
import { libFolder, moduleExtension } from '../../this-package.ts';
import { LeaseholdError } from '../../wire/leasehold-error.ts';
import type { JsonValue } from '../../wire/message.ts';
import { JobsModuleError } from '../../worker/jobs-module-error.ts';
import { bundleWorker, CELL } from './bundle.ts';
import type { BundlingOptions } from './bundling.ts';
import { installFix, packageOf } from './packages.ts';

type Environment = Readonly<Record<string, string | undefined>>;

export interface JobsModule {
  readonly types: readonly JobTypeSample[];
  readonly schedules: Schedules;
  /** For each job to check why no worker would run it; null if one would. */
  readonly refusals: readonly (string | null)[];
}

export interface JobTypeSample {
  readonly type: string;
  readonly sample: JsonValue;
}

export interface JobToCheck {
  readonly type: string;
  readonly payload: string;
}

const PROGRAM = join(libFolder, 'tools', 'bundle', `read-jobs${moduleExtension}`);

/** Ends a module that computes forever. */
const ENDED_AFTER_MS = 60_000;

export interface WorkerBundle {
  readonly cell: string;
  readonly jobs: string;
  readonly bundling?: BundlingOptions;
}

/** In a separate process, because a module's top level may hang or exit. */
export async function readJobsModule(
  bundle: WorkerBundle,
  environment: Environment,
  jobs: readonly JobToCheck[] = [],
): Promise<JobsModule> {
  const loaded = await load(bundle.cell, environment, jobs);
  if (typeof loaded !== 'string') return loaded;
  const packages = await packagesToInstall(bundle, environment, loaded);
  if (packages.length > 0)
    throw new LeaseholdError(
      'BUNDLE',
      `${packages.join(', ')} cannot be loaded from the bundle of ${bundle.jobs}. ${installFix(packages)}\n${loaded}`,
    );
  throw new JobsModuleError(bundle.jobs, loaded);
}

async function packagesToInstall(
  { jobs, bundling = {} }: WorkerBundle,
  environment: Environment,
  problem: string,
): Promise<readonly string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-packages-'));
  const packages: string[] = [];
  const given = bundling.nodeModules ?? [];
  try {
    for (let loaded: JobsModule | string = problem; typeof loaded === 'string'; ) {
      const called = loaded.split('\n').flatMap((line) => packageOf(line)?.name ?? []);
      // The one that the user's own code called.
      const name = called.filter((each) => each !== 'leasehold').at(-1);
      if (name === undefined || [...given, ...packages].includes(name)) return [];
      packages.push(name);
      await bundleWorker(jobs, folder, { ...bundling, nodeModules: [...given, ...packages] });
      loaded = await load(join(folder, CELL), environment);
    }
    return packages;
  } catch {
    return [];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function load(
  cell: string,
  environment: Environment,
  jobs: readonly JobToCheck[] = [],
): Promise<JobsModule | string> {
  const child = spawn(process.execPath, ['--enable-source-maps', PROGRAM, cell], {
    env: { ...process.env, ...environment },
    stdio: 'pipe',
    timeout: ENDED_AFTER_MS,
    killSignal: 'SIGKILL',
  });
  // A module that ends its process early reads nothing.
  child.stdin.on('error', () => {}).end(JSON.stringify(jobs));
  const [said, wrong, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close') as Promise<[number | null, string | null]>,
  ]);
  const last = said.trim().split('\n').at(-1) ?? '';
  if (code === 0 && last.startsWith('{"types":')) return JSON.parse(last) as JobsModule;
  const problem = wrong.replaceAll(`jobs module ${cell}: `, '').trim();
  return (
    problem || `it ended the process that loaded it (${signal ?? `exit code ${code}`}) before it was loaded`
  );
}
