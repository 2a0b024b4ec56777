import { copyFileSync, existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { BuildFailure, Loader, Message } from 'esbuild';
import { libFolder, moduleExtension, packageFolder } from '../../this-package.ts';
import { LeaseholdError } from '../../wire/leasehold-error.ts';
import { type BundlingOptions, bundling, ownPackage, UNUSED_CREDENTIAL_SOURCES } from './bundling.ts';
import { installCommand } from './package-manager.ts';
import { installFix, linkPackages, nativePackages, packageOf } from './packages.ts';

export const BUNDLE = 'index.mjs';
export const CELL = 'cell.mjs';
/** A cell's entry imports the user's module by this alias. */
const JOBS_MODULE = 'leasehold-jobs-module';

export interface BundleContents {
  readonly entryPoints: Readonly<Record<string, string>>;
  readonly outdir: string;
  readonly isOwn?: boolean;
  readonly alias?: Readonly<Record<string, string>>;
  readonly options?: BundlingOptions;
}

export async function bundle({
  entryPoints,
  outdir,
  isOwn = false,
  alias,
  options: { nodeModules = [], externalModules = [], loader } = {},
}: BundleContents): Promise<readonly string[]> {
  const { build } = await loadEsbuild();
  const inputs = await build({
    entryPoints,
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    format: bundling.format,
    platform: bundling.platform,
    target: bundling.target,
    minify: bundling.minify,
    // Errors print users' class names; ours carry theirs.
    keepNames: !isOwn,
    mainFields: [...bundling.mainFields],
    define: bundling.define,
    banner: { js: bundling.banner },
    alias: { ...ownPackage(), ...alias },
    external: isOwn ? UNUSED_CREDENTIAL_SOURCES : [...nodeModules, ...externalModules],
    loader: loader as Record<string, Loader>,
    sourcemap: 'linked',
    sourcesContent: false,
    metafile: true,
    logLevel: 'silent',
  }).then(
    ({ metafile }) => Object.keys(metafile.inputs).map((file) => resolve(file)),
    (cause: BuildFailure) => {
      const fixes = new Set(cause.errors?.map(fixOf));
      throw bundleError(`the functions could not be bundled: ${cause.message}${[...fixes].join('')}`, cause);
    },
  );
  const native = isOwn ? [] : nativePackages(inputs);
  if (native.length > 0)
    throw bundleError(`native code cannot be bundled: ${native.join(', ')}. ${installFix(native)}`);
  return inputs;
}

export const bundleError = (message: string, cause?: unknown) =>
  new LeaseholdError('BUNDLE', message, { cause });

function fixOf({ text, location }: Message): string {
  const name = packageOf(location?.file ?? '')?.name;
  if (name === undefined) return '';
  const [, missing] = /^Could not resolve "([^"]+)"/.exec(text) ?? [];
  if (missing?.startsWith('.') || text.includes('".node" files')) return `\n${installFix([name])}`;
  return missing === undefined
    ? ''
    : `\nInstall ${missing}, or, if ${name} does without it, leave it out: bundling: { externalModules: ['${missing}'] } on LeaseholdJobs, --external ${missing} for leasehold dev`;
}

export const ownFunction = (name: string): string => join(packageFolder, 'functions', name);

export const bundleOwn = (name: string, folder: string): Promise<readonly string[]> =>
  bundle({ entryPoints: { index: join(ownFunction(name), 'index.ts') }, outdir: folder, isOwn: true });

export async function bundleWorker(
  jobs: string,
  folder: string,
  options: BundlingOptions = {},
): Promise<readonly string[]> {
  const cell = join(libFolder, 'worker', 'cells', 'cell', `jobs-cell${moduleExtension}`);
  const host = ownFunction('worker');
  const isBuilt = existsSync(join(host, BUNDLE));
  mkdirSync(folder, { recursive: true });
  if (isBuilt)
    for (const file of [BUNDLE, `${BUNDLE}.map`]) copyFileSync(join(host, file), join(folder, file));
  else await bundleOwn('worker', folder);
  linkPackages(folder, jobs, options);
  return bundle({ entryPoints: { cell }, outdir: folder, alias: { [JOBS_MODULE]: resolve(jobs) }, options });
}

export async function loadEsbuild(): Promise<typeof import('esbuild')> {
  try {
    return await import('esbuild');
  } catch (cause) {
    throw bundleError(
      `the functions must be bundled first, and esbuild is not installed. Run: ${installCommand({ dev: ['esbuild'] })}`,
      cause,
    );
  }
}
