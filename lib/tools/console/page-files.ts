import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { libFolder } from '../../this-package.ts';
import { LeaseholdError } from '../../wire/leasehold-error.ts';

export type PageFiles = ReadonlyMap<string, { readonly body: string; readonly type: string }>;

const FOLDER = join(libFolder, 'tools', 'console', 'page');
const SCRIPT = join(FOLDER, 'main.js');
const STYLES = join(FOLDER, 'main.css');

export async function loadPageFiles(): Promise<PageFiles> {
  const built = existsSync(SCRIPT)
    ? { script: readFileSync(SCRIPT, 'utf8'), styles: readFileSync(STYLES, 'utf8') }
    : await buildOnce();
  return new Map([
    ['/', { body: readFileSync(join(FOLDER, 'index.html'), 'utf8'), type: 'text/html; charset=utf-8' }],
    ['/main.js', { body: built.script, type: 'text/javascript; charset=utf-8' }],
    ['/main.css', { body: built.styles, type: 'text/css; charset=utf-8' }],
    ['/icon.svg', { body: readFileSync(join(FOLDER, 'icon.svg'), 'utf8'), type: 'image/svg+xml' }],
  ]);
}

let building: ReturnType<typeof buildPage> | undefined;
const buildOnce = () => {
  building ??= buildPage();
  return building;
};

/** Bundles everything, so that the page loads nothing from elsewhere. */
export async function buildPage(): Promise<{ readonly script: string; readonly styles: string }> {
  const { build } = await import('esbuild').catch((cause) => {
    throw new LeaseholdError(
      'BUNDLE',
      "the console's page must be built first, and esbuild is not installed; run 'npm install --save-dev esbuild'",
      { cause },
    );
  });
  const { outputFiles } = await build({
    entryPoints: [join(FOLDER, 'main.tsx'), join(FOLDER, 'main.css')],
    outdir: FOLDER,
    write: false,
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    logLevel: 'silent',
  });
  const textOf = (end: string) => outputFiles.find(({ path }) => path.endsWith(end))?.text ?? '';
  return { script: textOf('.js'), styles: textOf('.css') };
}
