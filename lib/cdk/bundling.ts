import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { SettingsError } from '../settings/settings-error.ts';
import { libFolder, moduleExtension, packageFolder } from '../this-package.ts';
import { quoted } from '../wire/message.ts';

/** One folder for each deployed function. */
export type FunctionName = 'worker' | 'reaper' | 'dead-letter';

const program = (...path: string[]): string => join(libFolder, ...path) + moduleExtension;

/** The code of a worker for a jobs module: a host that is the same for all, and a cell with the module in it. */
export const workerCode = (jobs: string): Code => bundledCode('worker', resolve(jobs));

/** The code of one of Leasehold's own functions, which the published package has bundled already. */
export function functionCode(name: FunctionName): Code {
  const folder = join(packageFolder, 'functions', name);
  return existsSync(join(folder, 'index.mjs')) ? Code.fromAsset(folder) : bundledCode(name);
}

/** Bundled at synth, in a process of its own: a construct cannot wait for a promise. */
const bundledCode = (name: FunctionName, ...jobs: readonly string[]): Code =>
  Code.fromAsset(join(packageFolder, 'functions', name), {
    // By what comes out of it: what goes in is not only in this folder.
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      local: {
        tryBundle(folder) {
          const { status, stderr } = spawnSync(
            process.execPath,
            [program('aws', 'lambda', 'bundle-function'), folder, name, ...jobs],
            { encoding: 'utf8' },
          );
          if (status !== 0)
            throw new SettingsError([stderr.trim() || `${name}: its bundling ended with ${status}`]);
          return true;
        },
      },
      // CDK asks for one, and never gets to it: the line above bundles, or throws.
      image: DockerImage.fromRegistry('none'),
    },
  });

/** Refuses a jobs module that is not there, or that Node can load and that exports no registry. */
export function checkJobsModule(jobs: string): void {
  const file = resolve(jobs);
  if (!existsSync(file))
    throw new SettingsError([
      `prop 'jobs' is ${quoted(jobs)}, and there is no file ${file}. Name the module that says: export const registry = createRegistry([...])`,
    ]);
  const { stderr } = spawnSync(process.execPath, [program('tools', 'dev', 'read-jobs'), file], {
    encoding: 'utf8',
    timeout: LOAD_WITHIN_MS,
  });
  // What only a bundler understands, or needs a variable that is not here, is esbuild's and the function's to judge.
  const problem = /it exports (no registry|\d+ registries)[^\n]*/.exec(stderr)?.[0];
  if (problem !== undefined) throw new SettingsError([`prop 'jobs' is ${quoted(jobs)}: ${problem}`]);
}

const LOAD_WITHIN_MS = 30_000;
