import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve, sep } from 'node:path';
import { bundling, JOBS_MODULE, jobsWorker, replacedPackages } from '../aws/lambda/bundling.ts';
import { libFolder, packageFolder } from '../this-package.ts';
import { LeaseholdError } from '../wire/leasehold-error.ts';

/** The folders with the functions' bundles, ready to run; `remove` deletes what was built for this run. */
export interface Bundles {
  readonly folder: (name: string) => string;
  /** The user's files that the bundles of a jobs module were made from. */
  readonly sources: () => readonly string[];
  /** Bundles the jobs module anew, into the same folders. */
  rebuild(): Promise<void>;
  remove(): void;
}

export interface BundleOptions {
  /** A source file by function; one that is left out is the function's own folder, which the published package has bundled. */
  readonly entries?: Readonly<Record<string, string>>;
  /** Functions that are bundled already, by their folders. */
  readonly folders?: Readonly<Record<string, string>>;
  /** A jobs module: the worker is made from it, and it has a bundle of its own under the name `jobs`. */
  readonly jobs?: string;
}

const BUNDLE = 'index.mjs';

/** Bundles functions as the stack does. */
export async function buildBundles(names: readonly string[], options: BundleOptions = {}): Promise<Bundles> {
  const { jobs } = options;
  const ofJobs: Readonly<Record<string, string>> =
    jobs === undefined ? {} : { worker: jobsWorker(), jobs: resolve(jobs) };
  const entries: Readonly<Record<string, string>> = { ...options.entries, ...ofJobs };
  const own = (name: string) => options.folders?.[name] ?? join(packageFolder, 'functions', name);
  const isBuilt = (name: string) => entries[name] === undefined && existsSync(join(own(name), BUNDLE));
  const made = [...new Set([...names, ...Object.keys(ofJobs)])].filter((name) => !isBuilt(name));
  const scratch = mkdtempSync(join(tmpdir(), 'leasehold-bundles-'));
  const remove = () => rmSync(scratch, { recursive: true, force: true });
  const alias =
    jobs === undefined ? replacedPackages() : { ...replacedPackages(), [JOBS_MODULE]: resolve(jobs) };
  let inputs: readonly string[] = [];
  const build = async (which: readonly string[]) => {
    const files = which.map((name) => [`${name}/index`, entries[name] ?? join(own(name), 'index.ts')]);
    inputs = await bundle(Object.fromEntries(files), scratch, alias);
  };
  try {
    if (made.length > 0) await build(made);
  } catch (error) {
    remove();
    throw error;
  }
  return {
    folder: (name) => (made.includes(name) ? join(scratch, name) : own(name)),
    sources: () =>
      inputs.filter((file) => !file.includes(`${sep}node_modules${sep}`) && !file.startsWith(libFolder)),
    rebuild: () => build(Object.keys(ofJobs)),
    remove,
  };
}

/** Bundles files into a folder, and tells which files went in. */
async function bundle(
  entryPoints: Record<string, string>,
  outdir: string,
  alias: Record<string, string>,
): Promise<readonly string[]> {
  const { build } = await loadEsbuild();
  try {
    const { metafile } = await build({
      entryPoints,
      outdir,
      outExtension: { '.js': '.mjs' },
      bundle: true,
      format: bundling.format,
      platform: bundling.platform,
      target: bundling.target,
      minify: bundling.minify,
      keepNames: bundling.keepNames,
      mainFields: [...bundling.mainFields],
      banner: { js: bundling.banner },
      alias,
      sourcemap: 'linked',
      sourcesContent: false,
      metafile: true,
      logLevel: 'silent',
    });
    return Object.keys(metafile.inputs).map((file) => resolve(file));
  } catch (cause) {
    throw new LeaseholdError(
      'BUNDLE',
      `the functions could not be bundled: ${cause instanceof Error ? cause.message : String(cause)}`,
      { cause },
    );
  }
}

/** Loaded only where something must be bundled: the published package brings its bundles along. */
async function loadEsbuild(): Promise<typeof import('esbuild')> {
  try {
    return await import('esbuild');
  } catch (cause) {
    throw new LeaseholdError(
      'BUNDLE',
      "the functions must be bundled first, and esbuild is not installed; run 'npm install --save-dev esbuild'",
      { cause },
    );
  }
}
