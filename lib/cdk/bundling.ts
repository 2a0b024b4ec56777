import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type BundlingOptions, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import { bundling, JOBS_MODULE, jobsWorker, replacedPackages } from '../aws/lambda/bundling.ts';
import { SettingsError } from '../settings/settings-error.ts';
import { libFolder, moduleExtension, packageFolder } from '../this-package.ts';
import { defined } from '../wire/defined.ts';
import { quoted } from '../wire/message.ts';

/** One folder for each deployed function. */
export type FunctionName = 'worker' | 'reaper' | 'dead-letter';

/**
 * How NodejsFunction makes a function one file. The SDK is bundled, so that what was tested is what runs; the source map
 * names places in the sources without carrying them.
 */
export const bundlingOptions = (jobs?: string): BundlingOptions => ({
  format: OutputFormat.ESM,
  target: bundling.target,
  mainFields: [...bundling.mainFields],
  minify: bundling.minify,
  keepNames: bundling.keepNames,
  banner: bundling.banner,
  bundleAwsSDK: true,
  sourceMap: true,
  sourcesContent: false,
  esbuildArgs: Object.fromEntries(
    Object.entries({ ...replacedPackages(), ...defined({ [JOBS_MODULE]: jobs }) }).map(([name, file]) => [
      `--alias:${name}`,
      file,
    ]),
  ),
});

/** Where a function's code is: bundled at synth from its source, or, in the published package, bundled already. */
export type FunctionSource =
  | { readonly kind: 'source'; readonly entry: string; readonly jobs?: string; readonly projectRoot?: string }
  | { readonly kind: 'bundle'; readonly directory: string };

/** The code of a worker for a jobs module: a fixed entry, in which the module goes by an alias. */
export const jobsSource = (jobs: string): FunctionSource => ({
  kind: 'source',
  entry: jobsWorker(),
  jobs: resolve(jobs),
  // CDK looks for a user's lock file from where it runs; Leasehold's own is here.
  projectRoot: moduleExtension === '.ts' ? packageFolder : undefined,
});

/** Refuses a jobs module that is not there, or that Node can load and that exports no registry. */
export function checkJobsModule(jobs: string): void {
  const file = resolve(jobs);
  if (!existsSync(file))
    throw new SettingsError([
      `prop 'jobs' is ${quoted(jobs)}, and there is no file ${file}. Name the module that says: export const registry = createRegistry([...])`,
    ]);
  const program = join(libFolder, 'local', `read-jobs${moduleExtension}`);
  const { stderr } = spawnSync(process.execPath, [program, file], {
    encoding: 'utf8',
    timeout: LOAD_WITHIN_MS,
  });
  // What only a bundler understands, or needs a variable that is not here, is esbuild's and the function's to judge.
  const problem = /it exports (no registry|\d+ registries)[^\n]*/.exec(stderr)?.[0];
  if (problem !== undefined) throw new SettingsError([`prop 'jobs' is ${quoted(jobs)}: ${problem}`]);
}

const LOAD_WITHIN_MS = 30_000;

/** The code of one of Leasehold's own functions. */
export function functionSource(name: FunctionName): FunctionSource {
  const directory = join(packageFolder, 'functions', name);
  return existsSync(join(directory, 'index.mjs'))
    ? { kind: 'bundle', directory }
    : { kind: 'source', entry: join(directory, 'index.ts'), projectRoot: packageFolder };
}
