import { readFileSync } from 'node:fs';
import { dirname, extname, join, sep } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Loader, OnLoadArgs, OnResolveArgs, OnResolveResult, PluginBuild } from 'esbuild';
import { libFolder } from '../../this-package.ts';
import { bundleError, loadEsbuild } from './bundle.ts';
import type { BundlingOptions } from './bundling.ts';

const SCRIPT = /\.[cm]?[jt]sx?$/;

/** Bundles a jobs module for this machine: Node alone runs no enums, and no imports without extensions. */
export async function bundleJobs(
  jobs: string,
  folder: string,
  { loader }: Pick<BundlingOptions, 'loader'> = {},
): Promise<string> {
  const { build } = await loadEsbuild();
  const outfile = join(folder, 'jobs.mjs');
  const require = `createRequireForBundle(${JSON.stringify(pathToFileURL(jobs).href)})`;
  await build({
    entryPoints: [jobs],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: `node${process.versions.node}`,
    // As Node has them, without esbuild's `module`.
    conditions: ['module-sync'],
    keepNames: true,
    define: {
      'import.meta.url': '__leaseholdUrl',
      'import.meta.filename': '__filename',
      'import.meta.dirname': '__dirname',
    },
    banner: {
      js: `import { createRequire as createRequireForBundle } from 'node:module'; const require = ${require};`,
    },
    loader: loader as Record<string, Loader>,
    plugins: [{ name: 'as-in-node', setup: asInNode }],
    sourcemap: 'linked',
    sourcesContent: false,
    logLevel: 'silent',
  }).catch((cause: Error) => {
    throw bundleError(`${jobs} could not be bundled: ${cause.message}`, cause);
  });
  return outfile;
}

/** Packages stay where they are, native ones too, and files know where they were. */
function asInNode({ onResolve, onLoad, resolve }: PluginBuild): void {
  onResolve({ filter: /./ }, async ({ path, kind, pluginData, ...from }: OnResolveArgs) => {
    if (kind === 'entry-point' || pluginData === asInNode) return undefined;
    const found = await resolve(path, { ...from, kind, pluginData: asInNode });
    return isInstalled(found.path) && !found.external ? external(found.path, kind) : undefined;
  });
  onLoad({ filter: SCRIPT, namespace: 'file' }, ({ path }: OnLoadArgs) => {
    const places = { __leaseholdUrl: pathToFileURL(path).href, __filename: path, __dirname: dirname(path) };
    const declared = Object.entries(places).map(([name, place]) => `${name} = ${JSON.stringify(place)}`);
    // On its first line, so that all others keep their numbers.
    const contents = `const ${declared.join(', ')}; ${readFileSync(path, 'utf8').replace(/^#!.*/, '')}`;
    return { contents, loader: extname(path).replace(/^\.[cm]?/, '') as Loader };
  });
}

/** Node reads neither TypeScript nor, unless told so, JSON from packages. */
const isInstalled = (file: string): boolean =>
  /[\\/]node_modules[\\/].*\.([cm]?js|node)$/.test(file) || file.startsWith(libFolder + sep);

const external = (file: string, kind: OnResolveArgs['kind']): OnResolveResult => ({
  path: kind.startsWith('require') ? file : pathToFileURL(file).href,
  external: true,
});
