import { execSync } from 'node:child_process';
import { join } from 'node:path';
import type { LeaseholdError } from '../../wire/leasehold-error.ts';
import { bundleOwn, bundleWorker, CELL } from './bundle.ts';
import type { BundlingOptions } from './bundling.ts';
import { nameSourcesFromPackage } from './name-sources.ts';
import { installPackages } from './packages.ts';
import { readJobsModule } from './read-jobs-module.ts';

type Given = BundlingOptions & { readonly commands?: readonly string[] };

/** A program for constructs, which cannot await: bundles a function into a folder. Warnings go to stdout. */
const [, , folder = '', name = '', jobs, bundling = '{}', architecture = ''] = process.argv;
try {
  await (jobs === undefined ? bundleOwn(name, folder) : makeWorker(jobs, JSON.parse(bundling)));
  nameSourcesFromPackage(folder);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

async function makeWorker(jobs: string, { commands = [], ...bundling }: Given): Promise<void> {
  await bundleWorker(jobs, folder, bundling);
  for (const command of commands) execSync(command, { stdio: ['ignore', 'ignore', 'pipe'] });
  try {
    await readJobsModule({ cell: join(folder, CELL), jobs, bundling }, process.env);
  } catch (error) {
    const { code, message } = error as LeaseholdError;
    // Any other top level may need a variable or a service that only the function has.
    if (code === 'BUNDLE' || /it exports (no registry|\d+ registries)/.test(message)) throw error;
    process.stdout.write(message);
  }
  installPackages(folder, jobs, bundling.nodeModules ?? [], architecture);
}
