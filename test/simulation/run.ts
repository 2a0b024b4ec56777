import { toolOptions } from '../support/tool-options.ts';
import { minimise, story } from './minimise.ts';
import { createTotals, type Outcome } from './outcome.ts';
import { seedsFrom } from './seeds.ts';
import { simulateInThreads } from './simulate-in-threads.ts';

/** Random schedules on all cores, and the first that breaks a promise. */
const USAGE = `npm run simulate -- [--size SIZE] [--seed N] [--seconds N] [--threads N]
  Runs schedules of a size (brief, full, crowd, or limited; by default brief)
  from this seed on, for N seconds (10) in N threads (one for each core).
  The first that breaks a promise is reduced to the faults that it needs and
  printed; then the command ends with 1.`;
const SIZES = ['brief', 'full', 'crowd', 'limited'] as const;
const values = toolOptions(USAGE, {
  seed: { type: 'string', default: String(Math.floor(Math.random() * 1e9)) },
  seconds: { type: 'string', default: '10' },
  threads: { type: 'string' },
  size: { type: 'string', default: 'brief' },
});
const seed = Number(values.seed);
const seconds = Number(values.seconds);
const threads = values.threads === undefined ? undefined : Number(values.threads);
if (!Number.isSafeInteger(seed) || seed < 0 || !(seconds > 0 && seconds < Number.POSITIVE_INFINITY)) {
  console.error('--seed is a whole number from 0 on, --seconds a number above 0');
  process.exit(2);
}
if (threads !== undefined && !(Number.isInteger(threads) && threads >= 1 && threads <= 256)) {
  console.error('--threads is a whole number from 1 to 256');
  process.exit(2);
}
const size = SIZES.find((name) => name === values.size);
if (size === undefined) {
  console.error(`--size is one of ${SIZES.join(', ')}`);
  process.exit(2);
}

const totals = createTotals();
const endsAt = performance.now() + seconds * 1000;
let broken: Outcome | undefined;
console.log(`${size} schedules from seed ${seed} on, for ${seconds} s`);
await simulateInThreads(seedsFrom(seed, Number.POSITIVE_INFINITY), { size, threads }, (outcome) => {
  totals.add(outcome);
  if (outcome.violation !== undefined) broken ??= outcome;
  return broken !== undefined || performance.now() >= endsAt;
});
console.log(String(totals));
if (broken === undefined) console.log('every promise held');
else {
  console.error(story(await minimise({ seed: broken.seed, size })));
  console.error(`\nseed ${broken.seed} of the ${size} schedules breaks a promise`);
  process.exitCode = 1;
}
