import { toolOptions } from '../support/tool-options.ts';
import { runChaos } from './run-chaos.ts';
import { tell } from './tell.ts';

/** Real processes on real engines: tormented, compared by what faults cost, or left in peace for long. */
const USAGE = `npm run chaos -- [--seed N] [--minutes N] [--jobs N] [--workers N] [--reapers N]
  Torments workers and reapers at random, then judges what they did.
  By default a minute, 100 jobs, 3 workers and 2 reapers.

npm run chaos -- --fleet [--seed N] [--minutes N] [--hosts N] [--deaths SHARE]
  A fleet under load, first undisturbed (for five minutes at most), then with
  deaths, outages and a deployment; judged also by what the faults cost.
  By default 3 hosts; of their cells 0.05 die each minute.

npm run chaos -- --soak [--seed N] [--minutes N] [--jobs N]
  No chaos at all: so many jobs at once (at most 1000) in one worker process,
  and nothing may grow.

Without --seed one is drawn, and told: the same seed brings the same faults.
Ends with 1 where a promise was broken.`;
const values = toolOptions(USAGE, {
  seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
  minutes: { type: 'string', default: '1' },
  jobs: { type: 'string', default: '100' },
  workers: { type: 'string', default: '3' },
  reapers: { type: 'string', default: '2' },
  fleet: { type: 'boolean', default: false },
  soak: { type: 'boolean', default: false },
  hosts: { type: 'string', default: '3' },
  /** The share of the cells that dies each minute. */
  deaths: { type: 'string', default: '0.05' },
});
const [seed, minutes, jobs, workers, reapers] = [
  ...[values.seed, values.minutes, values.jobs, values.workers, values.reapers],
].map(Number);
if (![seed, minutes, jobs, workers, reapers].every((value) => Number.isFinite(value) && Number(value) >= 0)) {
  console.error('--seed, --minutes, --jobs, --workers and --reapers are numbers from 0 on');
  process.exit(2);
}
if (!(Number(values.hosts) >= 1 && Number(values.deaths) > 0 && Number(values.deaths) <= 1)) {
  console.error(
    '--hosts is a number from 1 on, --deaths the share of the cells that dies each minute: above 0, at most 1',
  );
  process.exit(2);
}
if (values.fleet) process.exitCode = await runFleets();
else if (values.soak) process.exitCode = await runSoak();
else process.exitCode = await runOnce();

async function runOnce(): Promise<number> {
  console.log(
    `seed ${seed}: ${jobs} jobs, ${workers} workers, ${reapers} reapers, ${minutes} minutes of chaos`,
  );
  const { findings, evidence, figures } = await runChaos({
    seed: seed ?? 0,
    seconds: (minutes ?? 1) * 60,
    jobs: jobs ?? 0,
    workers: workers ?? 3,
    reapers: reapers ?? 2,
    log: console.log,
  });
  console.log(figures);
  if (findings.length === 0) console.log(`seed ${seed}: every promise held`);
  else console.error(`${tell(findings, evidence)}\n\nseed ${seed}: ${findings.length} broken promises`);
  return findings.length === 0 ? 0 : 1;
}

async function runSoak(): Promise<number> {
  if (!(Number.isSafeInteger(jobs) && Number(jobs) >= 1 && Number(jobs) <= 1000 && Number(minutes) > 0)) {
    console.error('--minutes is a number above 0, --jobs a whole number from 1 to 1000');
    return 2;
  }
  const { soak } = await import('../soak/soak.ts');
  return soak(seed ?? 0, minutes ?? 60, jobs ?? 1000);
}

async function runFleets(): Promise<number> {
  const { compareFleets } = await import('./compare-fleets.ts');
  const problems = await compareFleets({
    seed: seed ?? 0,
    seconds: (minutes ?? 1) * 60,
    hosts: Number(values.hosts),
    cellDeaths: Number(values.deaths),
    log: console.log,
  });
  for (const problem of problems) console.error(problem);
  console.log(
    problems.length === 0 ? `seed ${seed}: every promise held` : `seed ${seed}: ${problems.length} problems`,
  );
  return problems.length === 0 ? 0 : 1;
}
