import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import type { Results } from './report/results.ts';
import { writeReport } from './report/write-report.ts';
import { scenariosOf } from './scenarios/all.ts';
import type { Bench } from './scenarios/scenario.ts';
import { createStores } from './support/stores.ts';
import { start as startLeasehold } from './systems/leasehold.ts';
import type { StartSystem, System } from './systems/system.ts';

const HELP = `Measures Leasehold next to the queues that people would use in its place.

  npm run bench                    everything, less than 90 minutes
  npm run bench -- --quick         fewer and smaller measurements, about 10 minutes; the slowest keep their figures
  npm run bench -- --only steady,zombie
  npm run bench -- --only latency  throughput with the network in between, ten minutes
  npm run bench -- --systems leasehold,bullmq
  npm run bench -- --only cells --systems leasehold,bullmq     deaths of cells, and Celery on BullMQ's Redis; 12 minutes at most
  npm run bench -- --only cells --trials 3                     the same, to see that it works
  npm run bench -- --only init --against <checkout>            what starting costs, beside another version's, in pairs
  npm run bench -- --long          scaling up to a million finished rows
  npm run bench -- --report        only writes the pages again from bench/results.json

Figures go to bench/results.json, and from there into docs/performance.md, docs/scale.md and docs/images.`;

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
    only: { type: 'string' },
    trials: { type: 'string' },
    against: { type: 'string' },
    systems: { type: 'string', default: 'leasehold,bullmq,platformatic,pg-boss,graphile-worker' },
    report: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const say = (text: string) => process.stdout.write(`${text}\n`);
const file = new URL('./results.json', import.meta.url);
const kept = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Results) : {};

// Whatever ends this process, its stores and engines end with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

if (values.help) say(HELP);
else if (values.report) await writeReport(kept);
else await measure();
process.exit(0);

async function measure(): Promise<void> {
  const began = Date.now();
  const [loadBefore = 0] = loadavg();
  const stores = createStores();
  const { systems, skipped } = await startSystems(stores);
  let results: Results = { ...kept, systems: withKept(systems), skipped };
  const keep = (part: Results): void => {
    results = { ...merged(results, part), machine: machineNow(began, loadBefore) };
    writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`);
  };
  const trials = values.trials === undefined ? undefined : Number(values.trials);
  const bench: Bench = { systems, quick: values.quick, trials, say, keep };
  const chosen = values.only?.split(',');
  const all = scenariosOf(bench, { long: values.long, against: values.against });
  const unknown = chosen?.filter((name) => !Object.hasOwn(all, name)) ?? [];
  if (unknown.length > 0)
    throw new Error(`no scenario ${unknown.join(', ')}; there are ${Object.keys(all).join(', ')}`);
  for (const [name, scenario] of Object.entries(all)) {
    if (chosen !== undefined && !chosen.includes(name)) continue;
    say(`\n${name}`);
    keep(await scenario());
  }
  await writeReport(results);
  for (const system of systems) await system.stop().catch(() => {});
  await stores.stop();
}

function machineNow(began: number, loadBefore: number): Results['machine'] {
  const [loadAfter = 0] = loadavg();
  return {
    date: new Date().toISOString().slice(0, 10),
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    node: process.version,
    ...{ loadBefore, loadAfter, quick: values.quick },
    only: values.only,
    minutes: Math.round((Date.now() - began) / 60_000),
  };
}

/** The systems of this run, and those of earlier ones whose figures are kept. */
function withKept(systems: readonly System[]): Results['systems'] {
  const now = systems.map(({ name, title, version, store, settings }) => ({
    ...{ name, title, version, store, settings },
  }));
  const before = (kept.systems ?? []).filter((old) => !now.some(({ name }) => name === old.name));
  return [...now, ...before];
}

/** A run of some systems leaves the figures of the others as they are. */
function merged(before: Results, fresh: Results): Results {
  const measured = Object.entries(fresh).filter(([, value]) => value !== undefined);
  const entries = measured.map(([name, value]) => {
    const old: unknown = before[name as keyof Results];
    return [name, isPlain(old) && isPlain(value) ? { ...old, ...value } : value];
  });
  return { ...before, ...Object.fromEntries(entries) };
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Peers come from a package of their own, so that nobody installs them who does not measure. */
function installPeers(): string | undefined {
  const folder = new URL('.', import.meta.url).pathname;
  if (existsSync(new URL('./node_modules', import.meta.url))) return undefined;
  say('Installing the peers into bench/node_modules');
  try {
    execFileSync('npm', ['ci', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund'], {
      stdio: 'inherit',
    });
    return undefined;
  } catch (error) {
    return `its package could not be installed (${error instanceof Error ? error.message : error})`;
  }
}

async function startSystems(stores: ReturnType<typeof createStores>) {
  mkdirSync(new URL('../docs/images', import.meta.url), { recursive: true });
  const systems: System[] = [];
  const skipped: Record<string, string> = {};
  const notInstalled = installPeers();
  for (const name of values.systems.split(',')) {
    const peer = async () => (await import(`./peers/${name}.ts`)) as { start: StartSystem };
    try {
      const started =
        name === 'leasehold'
          ? await startLeasehold()
          : notInstalled === undefined
            ? await (await peer()).start(stores)
            : { skipped: notInstalled };
      if ('skipped' in started) skipped[name] = started.skipped;
      else systems.push(started);
    } catch (error) {
      skipped[name] = error instanceof Error ? error.message : String(error);
    }
  }
  for (const [name, why] of Object.entries(skipped)) say(`${name} is skipped: ${why}`);
  return { systems, skipped };
}
