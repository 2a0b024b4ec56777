import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { LATENCIES, latencyName, shortJobs } from './scenarios/null-engine-cost.ts';
import { spreadOf } from './support/statistics.ts';

/**
 * What a short job costs this version and another, in alternating pairs, against a server that does nothing and takes its
 * time: `npx node bench/short-jobs.ts --with <another checkout>`. Without another it measures this one alone.
 */
const { values } = parseArgs({
  options: {
    with: { type: 'string' },
    pairs: { type: 'string', default: '5' },
    jobs: { type: 'string', default: '3000' },
    concurrency: { type: 'string', default: '10,100' },
    /** Bytes of padding in each job's payload. */
    payload: { type: 'string', default: '0' },
    /** Of DynamoDB, in ms; SQS takes twice as long. */
    latency: { type: 'string', default: '0,5,10' },
  },
});

type Figures = Omit<Awaited<ReturnType<typeof shortJobs>>, 'unfinished'>;

const here = join(import.meta.dirname, '..');
const checkouts = values.with === undefined ? [here] : [resolve(values.with), here];
const chosen = values.latency.split(',').map(Number);
const told = ({ jobsPerSecond, cpuMsPerJob, requestsPerJob }: Figures): string =>
  `${jobsPerSecond.toFixed(0)} jobs/s, ${cpuMsPerJob.toFixed(3)} ms CPU, ${requestsPerJob.toFixed(3)} requests a job`;
const median = (runs: readonly Figures[], figure: keyof Figures): number =>
  spreadOf(runs.map((run) => run[figure]))?.median ?? 0;

for (const concurrency of values.concurrency.split(',').map(Number))
  for (const latency of LATENCIES.filter(({ dynamodbMs }) => chosen.includes(dynamodbMs))) {
    console.log(`concurrency ${concurrency}, latency ${latencyName(latency)}`);
    const runs = new Map<string, Figures[]>(checkouts.map((checkout) => [checkout, []]));
    for (let pair = 0; pair < Number(values.pairs); pair += 1)
      for (const checkout of pair % 2 === 0 ? checkouts : checkouts.toReversed()) {
        const program = join(checkout, 'bench', 'systems', 'leasehold-process.ts');
        const jobs = Number(values.jobs);
        const payloadBytes = Number(values.payload);
        const figures = await shortJobs(
          { name: 'leasehold', program },
          { concurrency, jobs, latency, payloadBytes },
        );
        runs.get(checkout)?.push(figures);
        console.log(`  ${checkout === here ? 'here ' : 'there'} ${told(figures)}`);
      }
    for (const [checkout, own] of runs)
      console.log(
        ` median ${checkout === here ? 'here ' : 'there'} ${told({
          jobsPerSecond: median(own, 'jobsPerSecond'),
          cpuMsPerJob: median(own, 'cpuMsPerJob'),
          requestsPerJob: median(own, 'requestsPerJob'),
        })}`,
      );
  }
