import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { libFolder, moduleExtension, packageFolder } from '../../this-package.ts';
import { LeaseholdError } from '../../wire/leasehold-error.ts';
import { bundling, replacedPackages } from './bundling.ts';
import { trimming } from './trim-clients.ts';

/** The file that a function's folder has. */
export const BUNDLE = 'index.mjs';
/** The module that a cell's fixed entry imports: an alias for the file that the user names. */
const JOBS_MODULE = 'leasehold-jobs-module';

/** What is bundled: functions of Leasehold's own, or what has a user's code in it. */
export interface BundleContents {
  readonly entryPoints: Readonly<Record<string, string>>;
  readonly outdir: string;
  readonly isOwn?: boolean;
  readonly alias?: Readonly<Record<string, string>>;
}

/** Bundles files into a folder, and tells which files went in. */
export async function bundle({
  entryPoints,
  outdir,
  isOwn = false,
  alias,
}: BundleContents): Promise<readonly string[]> {
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
      // Names of a user's classes are told in errors; ours have theirs in them.
      keepNames: !isOwn,
      mainFields: [...bundling.mainFields],
      banner: { js: bundling.banner },
      alias: { ...replacedPackages(isOwn), ...alias },
      plugins: trimming(isOwn),
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

/** Where the sources of a function of Leasehold's own are; in the published package, its bundle. */
export const ownFunction = (name: string): string => join(packageFolder, 'functions', name);

/** Bundles a function of Leasehold's own from its sources. */
export const bundleOwn = (name: string, folder: string): Promise<readonly string[]> =>
  bundle({ entryPoints: { index: join(ownFunction(name), 'index.ts') }, outdir: folder, isOwn: true });

/** Makes the worker of a jobs module: its host, which the published package has bundled, and its cell. */
export async function bundleWorker(jobs: string, folder: string): Promise<readonly string[]> {
  const cell = join(libFolder, 'worker', 'cells', 'cell', `jobs-cell${moduleExtension}`);
  const host = ownFunction('worker');
  const isBuilt = existsSync(join(host, BUNDLE));
  mkdirSync(folder, { recursive: true });
  if (isBuilt)
    for (const file of [BUNDLE, `${BUNDLE}.map`]) copyFileSync(join(host, file), join(folder, file));
  else await bundleOwn('worker', folder);
  return bundle({ entryPoints: { cell }, outdir: folder, alias: { [JOBS_MODULE]: resolve(jobs) } });
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
