import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { bundleWorker } from '../../lib/aws/lambda/bundle.ts';
import { bundling, replacedPackages } from '../../lib/aws/lambda/bundling.ts';
import { trimming } from '../../lib/aws/lambda/trim-clients.ts';
import { toEnvironment } from '../../lib/settings/environment.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { reaperVariables } from '../../lib/wire/environment.ts';
import { type Spread, spreadOf } from '../support/statistics.ts';

/** A deployed function's bundle: its size, and how long a fresh process takes to import it. */
export interface BundleCost {
  readonly name: string;
  readonly variant: string;
  readonly bytes: number;
  readonly importMs: Spread | undefined;
}

const ROOT = join(import.meta.dirname, '..', '..');
const FUNCTIONS = ['worker', 'reaper', 'dead-letter'] as const;
const VARIANTS = [
  { variant: 'as the packages name it (`main`)', mainFields: ['main'], alias: {}, plugins: [] },
  { variant: 'ES modules of the SDK', mainFields: [...bundling.mainFields], alias: {}, plugins: [] },
  {
    variant: 'and without what no function uses (deployed)',
    mainFields: [...bundling.mainFields],
    alias: replacedPackages(true),
    plugins: trimming(true),
  },
];

/** Bundles each function as deployed and as it would be without each saving, and starts each in fresh processes. */
export async function bundles(runs: number): Promise<BundleCost[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-bundles-'));
  const costs: BundleCost[] = [];
  try {
    // The worker's host starts the cell that it finds beside it.
    await bundleWorker(join(ROOT, 'examples', 'registry.ts'), folder);
    for (const name of FUNCTIONS)
      for (const [i, { variant, mainFields, alias, plugins }] of VARIANTS.entries()) {
        const outfile = join(folder, `${name}-${i}.mjs`);
        const { metafile } = await build({
          entryPoints: [join(ROOT, 'functions', name, 'index.ts')],
          outfile,
          bundle: true,
          metafile: true,
          format: bundling.format,
          platform: bundling.platform,
          target: bundling.target,
          minify: bundling.minify,
          keepNames: false,
          mainFields,
          alias,
          plugins,
          banner: { js: bundling.banner },
          logLevel: 'silent',
        });
        const bytes = Object.values(metafile?.outputs ?? {})[0]?.bytes ?? 0;
        const times = Array.from({ length: name === 'dead-letter' ? 0 : runs }, () => importMs(outfile));
        costs.push({ name, variant, bytes, importMs: spreadOf(times) });
      }
    return costs;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function importMs(file: string): number {
  const resources = {
    tableName: 't',
    queueUrl: 'http://localhost/q',
    serviceName: 's',
    eventBusName: 'default',
  };
  const program = `const from = performance.now(); await import('${file}'); console.log(performance.now() - from); process.exit(0)`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
    env: {
      ...process.env,
      ...toEnvironment({ settings: resolveSettings(), resources }),
      [reaperVariables.wakeQueueUrl]: 'http://localhost/wake',
      ...{ AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' },
    },
  });
  const ms = Number(stdout.trim().split('\n').at(-1));
  if (!Number.isFinite(ms) || stdout === '')
    throw new Error(`the bundle could not be imported: ${stderr.slice(-2000)}`);
  return ms;
}
