import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { build } from 'esbuild';
import { nameSourcesFromPackage } from '../lib/tools/bundle/name-sources.ts';
import { buildPage } from '../lib/tools/console/page-files.ts';
import { buildBundles } from '../lib/tools/dev/bundles.ts';

/** Bundles the functions, because Node does not read TypeScript in node_modules and not every user has esbuild. */
const root = join(import.meta.dirname, '..');
const out = resolve(process.argv[2] ?? join(root, 'dist'));

rmSync(out, { recursive: true, force: true });
// `npm test` checks the types, and the release workflow runs it first.
tsc(join(root, 'tsconfig.build.json'), out, '--noCheck');
buildCommonJs(join(out, 'cjs'));
await bundleMiddy(out, 'esm');
await bundleMiddy(join(out, 'cjs'), 'cjs');
await bundleFunctions();
await buildConsole();
for (const program of ['bin/leasehold.js', 'rehearsal/main.js']) chmodSync(join(out, program), 0o755);
// A command exports no types.
for (const file of globSync(join(out, 'rehearsal', '*.d.ts'))) rmSync(file);
// The command reads its version from here; a second full manifest would confuse bundlers.
const { version, type } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
writeFileSync(join(out, 'package.json'), `${JSON.stringify({ version, type })}\n`);

function tsc(project: string, target: string, ...options: readonly string[]): void {
  const typescript = dirname(createRequire(import.meta.url).resolve('typescript/package.json'));
  execFileSync(
    process.execPath,
    [join(typescript, 'bin', 'tsc'), '-p', project, '--outDir', target, ...options],
    {
      stdio: 'inherit',
    },
  );
  // tsc leaves the sources' extensions in declarations, which compilers before 5.0 do not follow.
  for (const file of globSync(join(target, '**/*.d.ts')))
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(['"]\.{1,2}\/[^'"]*)\.ts(['"])/g, '$1.js$2'));
}

/** For Jest and others that cannot `require` an ES module. tsc follows the nearest package.json, so it compiles a copy with another one. */
function buildCommonJs(target: string): void {
  const copy = join(root, '.cache', `commonjs-${process.pid}`);
  const commonJs = '{ "type": "commonjs" }\n';
  try {
    cpSync(join(root, 'lib'), join(copy, 'lib'), { recursive: true });
    copyFileSync(join(root, 'tsconfig.commonjs.json'), join(copy, 'tsconfig.json'));
    writeFileSync(join(copy, 'package.json'), commonJs);
    writeFileSync(
      join(copy, 'lib', 'this-package.ts'),
      `import { join } from 'node:path';
export const thisFile: string = __filename;
export const packageFolder: string = join(__dirname, '..', '..');
export const libFolder: string = join(packageFolder, 'lib');
export const moduleExtension: string = '.js';
`,
    );
    tsc(join(copy, 'tsconfig.json'), target, '--noCheck');
    writeFileSync(join(target, 'package.json'), commonJs);
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

/** middy has no CommonJS, and tools that convert our ES modules cannot load it either. */
async function bundleMiddy(folder: string, format: 'esm' | 'cjs'): Promise<void> {
  const file = join('lib', 'aws', 'lambda', 'middy');
  const outfile = join(folder, `${file}.js`);
  await build({ entryPoints: [join(root, `${file}.ts`)], outfile, bundle: true, platform: 'node', format });
}

async function bundleFunctions(): Promise<void> {
  const functions = readdirSync(join(root, 'functions'));
  // All workers share the host; the cell is the demo of `leasehold dev`, with its schema library.
  const bundles = await buildBundles(functions, { jobs: join(root, 'examples', 'demo.ts') });
  for (const name of functions) {
    const target = join(out, 'functions', name);
    nameSourcesFromPackage(bundles.folder(name));
    cpSync(bundles.folder(name), target, { recursive: true });
    console.log(`functions/${name}: ${Math.round(statSync(join(target, 'index.mjs')).size / 1024)} KiB`);
  }
  bundles.remove();
}

async function buildConsole(): Promise<void> {
  const page = join(out, 'lib', 'tools', 'console', 'page');
  mkdirSync(page, { recursive: true });
  const { script, styles } = await buildPage();
  writeFileSync(join(page, 'main.js'), script);
  writeFileSync(join(page, 'main.css'), styles);
  for (const file of ['index.html', 'icon.svg'])
    copyFileSync(join(root, 'lib', 'tools', 'console', 'page', file), join(page, file));
}
