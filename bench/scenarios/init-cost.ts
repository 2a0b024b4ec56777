import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toEnvironment } from '../../lib/settings/environment.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { bundleWorker } from '../../lib/tools/bundle/bundle.ts';
import { canContain, createContainer } from '../support/container.ts';
import type { Init } from '../support/init-probe.ts';
import { type Spread, spreadOf } from '../support/statistics.ts';
import type { Bench } from './scenario.ts';

/** The start of the worker function of a jobs module that has no job in it. */
export interface InitCost {
  /** Processor time of host and cell together. */
  readonly cpuMs: Spread | undefined;
  readonly wallMs: Spread | undefined;
  /** With as much of a processor as a function of 512 MB has. */
  readonly wallAtQuotaMs?: Spread;
  /** Proportional: what is shared by two counts half for each. */
  readonly hostPssMb: Spread | undefined;
  readonly cellPssMb?: Spread;
}

const PROBE = new URL('../support/init-probe.ts', import.meta.url).pathname;
const LIB = new URL('../../lib/', import.meta.url).pathname;
const QUOTA = 0.29;
const STARTS = 10;
const QUICK_STARTS = 3;
const ENVIRONMENT = toEnvironment({
  settings: resolveSettings(),
  resources: { tableName: 't', queueUrl: 'http://localhost/q', serviceName: 's', eventBusName: 'default' },
});

/** Starts the bundled worker again and again. */
export async function initCost(bench: Bench): Promise<InitCost> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-init-'));
  try {
    const file = await bundledWorker(folder);
    // The first start reads its files from the disk.
    startOnce(file);
    const starts = bench.trials ?? (bench.quick ? QUICK_STARTS : STARTS);
    const seen = Array.from({ length: starts }, () => startOnce(file));
    const atQuota: Init[] = [];
    if (canContain()) for (let i = 0; i < starts; i += 1) atQuota.push(await startAtQuota(file));
    const cost: InitCost = {
      cpuMs: spreadOf(seen.map(({ cpuMs }) => cpuMs)),
      wallMs: spreadOf(seen.map(({ wallMs }) => wallMs)),
      wallAtQuotaMs: spreadOf(atQuota.map(({ wallMs }) => wallMs)),
      hostPssMb: spreadOf(seen.map(({ hostPssMb }) => hostPssMb)),
      cellPssMb: spreadOf(seen.flatMap(({ cellPssMb = [] }) => cellPssMb)),
    };
    bench.say(`init: ${JSON.stringify(cost)}`);
    return cost;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function bundledWorker(folder: string): Promise<string> {
  const jobs = join(folder, 'jobs.ts');
  writeFileSync(
    jobs,
    `import { createRegistry } from '${LIB}worker/registry.ts';\nexport const registry = createRegistry([]);\n`,
  );
  await bundleWorker(jobs, join(folder, 'worker'));
  return join(folder, 'worker', 'index.mjs');
}

async function startAtQuota(file: string): Promise<Init> {
  const container = createContainer({ cpus: QUOTA });
  try {
    return startOnce(file, container.commandFor);
  } finally {
    await container.remove();
  }
}

function startOnce(file: string, commandFor = (program: readonly string[]): string[] => [...program]): Init {
  const [program = '', ...args] = commandFor([process.execPath, PROBE, file]);
  const { stdout, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    env: {
      ...{ ...process.env, ...ENVIRONMENT, NODE_NO_WARNINGS: '1', NODE_COMPILE_CACHE: undefined },
      ...{ AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' },
      // As on Lambda, where no guard is started: its runtime ends with all that is in it. Nobody calls this address.
      ...{ AWS_LAMBDA_FUNCTION_MEMORY_SIZE: '512', AWS_LAMBDA_RUNTIME_API: '127.0.0.1:9' },
    },
  });
  const line = stdout.trim().split('\n').at(-1);
  if (!line?.startsWith('{"cpuMs"')) throw new Error(`the bundle could not be started: ${stderr}`);
  return JSON.parse(line) as Init;
}
