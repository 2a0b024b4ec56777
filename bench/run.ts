import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import type { MeasuredPart, Results } from './report/results.ts';
import { writeReport } from './report/write-report.ts';
import { scenariosOf } from './scenarios/all.ts';
import { isPart, PARTS, wholeRun } from './scenarios/parts.ts';
import type { Bench } from './scenarios/scenario.ts';
import { createStores } from './support/stores.ts';
import { start as startLeasehold } from './systems/leasehold.ts';
import type { StartSystem, System } from './systems/system.ts';

const width = Math.max(...Object.keys(PARTS).map((name) => name.length));
const parts = Object.entries(PARTS).map(
  ([name, { minutes, what }]) => `  ${name.padEnd(width)}  ${String(minutes).padStart(2)} min  ${what}`,
);
const HELP = `Measures Leasehold next to the queues that people would use in its place.

  npm run bench                           everything, less than 90 minutes
  npm run bench -- --only headline        the README's table, at most 15 minutes
  npm run bench -- --only crash,latency   some parts; the others keep their figures, each with its date
  npm run bench -- --quick                fewer and smaller measurements, about 10 minutes, to see that all works: keeps nothing
  npm run bench -- --only cells --trials 3                 the same for one part
  npm run bench -- --systems leasehold,bullmq
  npm run bench -- --long                 scaling up to a million finished rows
  npm run bench -- --report               only writes the pages again from bench/results.json

Parts, and how long each takes at most on a quiet machine:

${parts.join('\n')}

Figures go to bench/results.json as soon as a part has them, and from there into README.md, docs and docs/images.`;
const ALL_SYSTEMS = 'leasehold,bullmq,platformatic,pg-boss,graphile-worker';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    long: { type: 'boolean', default: false },
    only: { type: 'string' },
    trials: { type: 'string' },
    systems: { type: 'string', default: ALL_SYSTEMS },
    report: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
const say = (text: string) => process.stdout.write(`${text}\n`);
const file = new URL('./results.json', import.meta.url);
const machine: Results['machine'] = {
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  node: process.version,
};
const kept = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Results) : {};

// Whatever ends this process, its stores and engines end with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1));

if (values.help) say(HELP);
else if (values.report) writeReport(kept);
else await measure();
process.exit(0);

async function measure(): Promise<void> {
  const names = values.only?.split(',') ?? wholeRun;
  const unknown = names.filter((name) => !isPart(name));
  if (unknown.length > 0)
    throw new Error(`no part ${unknown.join(', ')}; there are ${Object.keys(PARTS).join(', ')}`);
  const trials = values.trials === undefined ? undefined : Number(values.trials);
  const isTrial = values.quick || trials !== undefined;
  const stores = createStores();
  const { systems, skipped } = await startSystems(stores);
  let results: Results = { ...kept, machine, systems: withKept(systems), skipped };
  for (const name of names.filter(isPart)) {
    say(`\n${name}, at most ${PARTS[name].minutes} minutes`);
    const [began, [loadBefore = 0]] = [Date.now(), loadavg()];
    const keep = (figures: Results): void => {
      if (isTrial) {
        say(JSON.stringify(figures));
        return;
      }
      const measured = partNow(began, loadBefore);
      results = { ...merged(results, figures), parts: { ...results.parts, [name]: measured } };
      writeFileSync(file, `${JSON.stringify(results, null, 1)}\n`);
    };
    const bench: Bench = { systems, quick: values.quick, trials, say, keep };
    keep(await scenariosOf(bench, { long: values.long })[name]());
  }
  if (!isTrial) writeReport(results);
  for (const system of systems) await system.stop().catch(() => {});
  await stores.stop();
}

function partNow(began: number, loadBefore: number): MeasuredPart {
  const [loadAfter = 0] = loadavg();
  return {
    date: new Date().toISOString().slice(0, 10),
    ...{ loadBefore, loadAfter },
    minutes: Math.max(1, Math.round((Date.now() - began) / 60_000)),
    systems: values.systems === ALL_SYSTEMS ? undefined : values.systems,
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
