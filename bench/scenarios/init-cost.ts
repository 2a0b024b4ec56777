import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { bundleWorker } from '../../lib/aws/lambda/bundle.ts';
import { toEnvironment } from '../../lib/settings/environment.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { canContain, createContainer } from '../support/container.ts';
import type { Init } from '../support/init-probe.ts';
import { type Spread, spreadOf } from '../support/statistics.ts';
import type { Bench } from './scenario.ts';

/** The start of the worker function of a jobs module that has no job in it. */
export interface InitCost {
  readonly version: 'this' | 'the other';
  /** Processor time of host and cell together, by the side of the other version in each pair. */
  readonly cpuMs: Spread | undefined;
  readonly cpuRatio?: Spread;
  readonly wallMs: Spread | undefined;
  /** With as much of a processor as a function of 512 MB has. */
  readonly wallAtQuotaMs?: Spread;
  /** Proportional: what is shared by two counts half for each. */
  readonly hostPssMb: Spread | undefined;
  readonly cellPssMb?: Spread;
}

interface Version {
  readonly version: InitCost['version'];
  readonly file: string;
  readonly environment: NodeJS.ProcessEnv;
  readonly seen: Init[];
  readonly atQuota: Init[];
}

const PROBE = new URL('../support/init-probe.ts', import.meta.url).pathname;
const LIB = new URL('../../lib/', import.meta.url).pathname;
const QUOTA = 0.29;
const PAIRS = 10;
const QUICK_PAIRS = 3;
const resources = {
  ...{ tableName: 't', queueUrl: 'http://localhost/q', serviceName: 's', eventBusName: 'default' },
};

/** Starts the bundled worker again and again, in turns with that of another checkout if one is named. */
export async function initCost(bench: Bench, against: string | undefined): Promise<InitCost[]> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-init-'));
  try {
    const versions = [await thisVersion(folder)];
    if (against !== undefined) versions.push(await otherVersion(resolve(against), folder));
    // The first start of each reads its files from the disk.
    for (const version of versions) startOnce(version);
    const pairs = bench.trials ?? (bench.quick ? QUICK_PAIRS : PAIRS);
    for (let pair = 0; pair < pairs; pair += 1) for (const each of versions) each.seen.push(startOnce(each));
    if (canContain())
      for (let pair = 0; pair < pairs; pair += 1)
        for (const each of versions) each.atQuota.push(await startAtQuota(each));
    const costs = versions.map((each) => costOf(each, versions));
    for (const cost of costs) bench.say(`init, ${cost.version} version: ${JSON.stringify(cost)}`);
    return costs;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function costOf({ version, seen, atQuota }: Version, versions: readonly Version[]): InitCost {
  const other = versions.find((each) => each.version !== version);
  const isMeasured = version === 'this' && other !== undefined;
  return {
    version,
    cpuMs: spreadOf(seen.map(({ cpuMs }) => cpuMs)),
    cpuRatio: isMeasured
      ? spreadOf(seen.map(({ cpuMs }, pair) => cpuMs / (other.seen[pair]?.cpuMs ?? Number.NaN)))
      : undefined,
    wallMs: spreadOf(seen.map(({ wallMs }) => wallMs)),
    wallAtQuotaMs: spreadOf(atQuota.map(({ wallMs }) => wallMs)),
    hostPssMb: spreadOf(seen.map(({ hostPssMb }) => hostPssMb)),
    cellPssMb: spreadOf(seen.flatMap(({ cellPssMb = [] }) => cellPssMb)),
  };
}

async function thisVersion(folder: string): Promise<Version> {
  const jobs = join(folder, 'jobs.ts');
  writeFileSync(
    jobs,
    `import { createRegistry } from '${LIB}worker/registry.ts';\nexport const registry = createRegistry([]);\n`,
  );
  await bundleWorker(jobs, join(folder, 'this'));
  return {
    ...{ version: 'this', file: join(folder, 'this', 'index.mjs'), seen: [], atQuota: [] },
    environment: toEnvironment({ settings: resolveSettings(), resources }),
  };
}

/** A checkout of 0.1, whose worker was one bundle with a thread in it. */
async function otherVersion(checkout: string, folder: string): Promise<Version> {
  const from = (file: string) => join(checkout, 'lib', file);
  if (!existsSync(from('contract/bundling.ts')))
    throw new Error(
      `${checkout} is no checkout of version 0.1 (eb6ac0e): it has no lib/contract/bundling.ts`,
    );
  const entry = join(folder, 'worker.ts');
  writeFileSync(
    entry,
    `import { createRegistry } from '${from('worker/registry.ts')}';
import { createWorkerHandler } from '${from('worker/lambda-host.ts')}';
export const handler = createWorkerHandler(createRegistry([]));\n`,
  );
  const file = join(folder, 'other', 'index.mjs');
  const { bundling, replacedPackages } = await import(from('contract/bundling.ts'));
  const { resolveSettings: settings } = await import(from('jobs/settings.ts'));
  const { toEnvironment: environmentOf } = await import(from('jobs/settings-environment.ts'));
  const { build } = await import('esbuild');
  const { format, platform, target, minify, keepNames, mainFields, banner } = bundling;
  await build({
    ...{ entryPoints: [entry], outfile: file, bundle: true, alias: replacedPackages(), logLevel: 'silent' },
    ...{ format, platform, target, minify, keepNames, mainFields, banner: { js: banner } },
    nodePaths: [join(checkout, 'node_modules')],
  });
  const environment = environmentOf({ settings: settings(), resources });
  return { version: 'the other', file, environment, seen: [], atQuota: [] };
}

async function startAtQuota(version: Version): Promise<Init> {
  const container = createContainer({ cpus: QUOTA });
  try {
    return startOnce(version, container.commandFor);
  } finally {
    await container.remove();
  }
}

function startOnce(
  { file, environment }: Version,
  commandFor = (program: readonly string[]): string[] => [...program],
): Init {
  const [program = '', ...args] = commandFor([process.execPath, PROBE, file]);
  const { stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    env: {
      ...{ ...process.env, ...environment, NODE_NO_WARNINGS: '1', NODE_COMPILE_CACHE: undefined },
      ...{ AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' },
      // As on Lambda, where no guard is started: its runtime ends with all that is in it. Nobody calls this address.
      ...{ AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '512', AWS_LAMBDA_RUNTIME_API: '127.0.0.1:9' },
    },
  });
  const line = stdout.trim().split('\n').at(-1);
  if (!line?.startsWith('{"cpuMs"')) throw new Error(`the bundle could not be started: ${stderr}`);
  return JSON.parse(line) as Init;
}
