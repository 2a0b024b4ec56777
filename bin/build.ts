import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { buildPage } from '../lib/console/page-files.ts';
import { buildBundles } from '../lib/local/bundles.ts';

/**
 * Builds the published package: sources as JavaScript with declarations, the functions bundled (Node does not read
 * TypeScript inside node_modules, and not every user has esbuild), and the console's page.
 */
const root = join(import.meta.dirname, '..');
const out = resolve(process.argv[2] ?? join(root, 'dist'));

rmSync(out, { recursive: true, force: true });
const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'));
execFileSync(
  process.execPath,
  [join(typescript, 'bin', 'tsc'), '-p', join(root, 'tsconfig.build.json'), '--outDir', out],
  { stdio: 'inherit' },
);

const functions = readdirSync(join(root, 'functions'));
const bundles = await buildBundles(functions);
for (const name of functions) cpSync(bundles.folder(name), join(out, 'functions', name), { recursive: true });
bundles.remove();

const page = join(out, 'lib', 'console', 'page');
mkdirSync(page, { recursive: true });
const { script, styles } = await buildPage();
writeFileSync(join(page, 'main.js'), script);
writeFileSync(join(page, 'main.css'), styles);
for (const file of ['index.html', 'icon.svg'])
  copyFileSync(join(root, 'lib', 'console', 'page', file), join(page, file));

chmodSync(join(out, 'bin', 'leasehold.js'), 0o755);
for (const name of functions) {
  const kib = Math.round(statSync(join(out, 'functions', name, 'index.mjs')).size / 1024);
  console.log(`functions/${name}: ${kib} KiB`);
}
