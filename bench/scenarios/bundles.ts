import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { toEnvironment } from '../../lib/settings/environment.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { bundleWorker } from '../../lib/tools/bundle/bundle.ts';
import { bundling, UNUSED_CREDENTIAL_SOURCES } from '../../lib/tools/bundle/bundling.ts';
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
  { variant: 'as the packages name it (`main`)', mainFields: ['main'], external: [] },
  { variant: 'ES modules of the SDK', mainFields: [...bundling.mainFields], external: [] },
  {
    variant: 'and without unused sources of credentials (deployed)',
    mainFields: [...bundling.mainFields],
    external: UNUSED_CREDENTIAL_SOURCES,
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
      for (const [i, { variant, mainFields, external }] of VARIANTS.entries()) {
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
          external,
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
