import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundling, replacedPackages } from '../aws/lambda/bundling.ts';
import { packageFolder } from '../this-package.ts';
import { LeaseholdError } from '../wire/leasehold-error.ts';

/** The folders with the functions' bundles, ready to run; `remove` deletes what was built for this run. */
export interface Bundles {
  readonly folder: (name: string) => string;
  remove(): void;
}

const BUNDLE = 'index.mjs';

/**
 * Bundles functions as the stack does. `entries` names a source file by function; one that is left out is the function's
 * own folder, which in the published package has its bundle already.
 */
export async function buildBundles(
  names: readonly string[],
  entries: Readonly<Record<string, string>> = {},
): Promise<Bundles> {
  const own = (name: string) => join(packageFolder, 'functions', name);
  const isBuilt = (name: string) => entries[name] === undefined && existsSync(join(own(name), BUNDLE));
  const sources = names.filter((name) => !isBuilt(name));
  const scratch = mkdtempSync(join(tmpdir(), 'leasehold-bundles-'));
  const remove = () => rmSync(scratch, { recursive: true, force: true });
  if (sources.length > 0) {
    const { build } = await loadEsbuild();
    try {
      await build({
        entryPoints: Object.fromEntries(
          sources.map((name) => [`${name}/index`, entries[name] ?? join(own(name), 'index.ts')]),
        ),
        outdir: scratch,
        outExtension: { '.js': '.mjs' },
        bundle: true,
        format: bundling.format,
        platform: bundling.platform,
        target: bundling.target,
        minify: bundling.minify,
        keepNames: bundling.keepNames,
        mainFields: [...bundling.mainFields],
        banner: { js: bundling.banner },
        alias: replacedPackages(),
        sourcemap: 'linked',
        sourcesContent: false,
        logLevel: 'silent',
      });
    } catch (cause) {
      remove();
      throw new LeaseholdError(
        'BUNDLE',
        `the functions could not be bundled: ${cause instanceof Error ? cause.message : String(cause)}`,
        { cause },
      );
    }
  }
  return { folder: (name) => (sources.includes(name) ? join(scratch, name) : own(name)), remove };
}

/** Loaded only where something must be bundled: the published package brings its bundles along. */
export async function loadEsbuild(): Promise<typeof import('esbuild')> {
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
