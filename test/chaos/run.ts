import { parseArgs } from 'node:util';
import { runChaos } from './run-chaos.ts';
import { tell } from './tell.ts';

/** `npm run chaos -- --seed 7 --minutes 5 --jobs 500`: torments real processes on real engines, then judges what they did. */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
    minutes: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '100' },
    workers: { type: 'string', default: '3' },
    reapers: { type: 'string', default: '2' },
  },
});
const [seed, minutes, jobs, workers, reapers] = [
  ...[values.seed, values.minutes, values.jobs, values.workers, values.reapers],
].map(Number);
if (![seed, minutes, jobs, workers, reapers].every((value) => Number.isFinite(value) && Number(value) >= 0)) {
  console.error('--seed, --minutes, --jobs, --workers and --reapers are numbers from 0 on');
  process.exit(2);
}
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
else {
  console.error(`${tell(findings, evidence)}\n\nseed ${seed}: ${findings.length} broken promises`);
  process.exitCode = 1;
}
