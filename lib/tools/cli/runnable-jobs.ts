import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { JobsModuleError } from '../../worker/jobs-module-error.ts';
import { bundleJobs } from '../bundle/bundle-jobs.ts';
import type { BundlingOptions } from '../bundle/bundling.ts';
import { installCommand } from '../bundle/package-manager.ts';
import { isInstalled } from '../dev/engines/find-package.ts';
import { CliError } from './cli-error.ts';

const TYPESCRIPT = /\.[cm]?tsx?$/;
const NOT_FOR_NODE =
  /ERR_(UNSUPPORTED_TYPESCRIPT_SYNTAX|MODULE_NOT_FOUND|UNSUPPORTED_DIR_IMPORT|UNKNOWN_FILE_EXTENSION)/;

export interface RunnableJobs {
  readonly file: string;
  rethrow(error: unknown): never;
}

/** TypeScript is bundled where esbuild is installed; Node runs it otherwise, by erasing types. */
export async function runnableJobs(
  jobs: string,
  loader: BundlingOptions['loader'],
  has: (name: string) => boolean = isInstalled,
): Promise<RunnableJobs> {
  if (!existsSync(jobs))
    throw new CliError(
      `There is no file '${jobs}'. Name the module with: export const registry = createRegistry([...])`,
    );
  if (!TYPESCRIPT.test(jobs)) return { file: jobs, rethrow: rethrowing((message) => message) };
  if (!has('esbuild')) return { file: jobs, rethrow: rethrowing((message) => withFix(message, jobs)) };
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-work-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const file = await bundleJobs(jobs, folder, { loader });
  // Inherited by cells, so that stacks name the sources.
  process.execArgv.push('--enable-source-maps');
  const named = (message: string) =>
    message.replaceAll(pathToFileURL(file).href, jobs).replaceAll(file, jobs);
  return { file, rethrow: rethrowing(named) };
}

const rethrowing =
  (reword: (message: string) => string) =>
  (error: unknown): never => {
    if (error instanceof JobsModuleError) error.message = reword(error.message);
    throw error;
  };

const withFix = (message: string, jobs: string): string =>
  NOT_FOR_NODE.test(message)
    ? `${message}\nNode runs TypeScript only if its types can be erased and its imports have extensions. With esbuild installed, it is bundled as in leasehold dev. Run: ${installCommand({ normal: ['esbuild'] }, dirname(jobs))}`
    : message;
