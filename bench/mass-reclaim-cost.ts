import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { LATENCIES, latencyName, startNullEngine } from './scenarios/null-engine-cost.ts';
import type { Latency } from './support/null-engine.ts';
import { quantile, spreadOf } from './support/statistics.ts';
import { startProcess } from './support/worker-process.ts';

/**
 * What a mass reclaim costs this version and another, in alternating pairs, against a server that does nothing and takes its
 * time: `npx node bench/mass-reclaim-cost.ts --with <another checkout>`. Without another it measures this one alone. Each
 * figure comes from a process that has swept before; the bystander's wait from a run of its own.
 */
const { values } = parseArgs({
  options: {
    with: { type: 'string' },
    pairs: { type: 'string', default: '5' },
    jobs: { type: 'string', default: '10000,30000' },
    /** Of DynamoDB, in ms; SQS takes twice as long. */
    latency: { type: 'string', default: '0,5' },
    /** The reaper's share of a core by a cgroup (version 1), as root: 0.29 is what Lambda gives 512 MB. */
    share: { type: 'string' },
  },
});

interface Figures {
  readonly jobsPerSecond: number;
  readonly cpuMsPerJob: number;
  readonly requestsPerJob: number;
  readonly bystanderP99Ms: number;
  readonly bystanderLongestMs: number;
}

const WARM_UP_JOBS = 10_000;
const here = join(import.meta.dirname, '..');
const checkouts = values.with === undefined ? [here] : [resolve(values.with), here];
const chosen = values.latency.split(',').map(Number);

for (const jobs of values.jobs.split(',').map(Number))
  for (const latency of LATENCIES.filter(({ dynamodbMs }) => chosen.includes(dynamodbMs))) {
    console.log(`${jobs} lapsed, latency ${latencyName(latency)}`);
    const runs = new Map<string, Figures[]>(checkouts.map((checkout) => [checkout, []]));
    for (let pair = 0; pair < Number(values.pairs); pair += 1)
      for (const checkout of pair % 2 === 0 ? checkouts : checkouts.toReversed()) {
        const figures = {
          ...(await reclaim(checkout, jobs, latency)),
          ...(values.share === undefined
            ? await besideBystander(checkout, jobs, latency)
            : { bystanderP99Ms: 0, bystanderLongestMs: 0 }),
        };
        runs.get(checkout)?.push(figures);
        console.log(`  ${nameOf(checkout)} ${told(figures)}`);
      }
    for (const [checkout, own] of runs) {
      const median = (of: keyof Figures) => spreadOf(own.map((run) => run[of]))?.median ?? 0;
      console.log(
        ` median ${nameOf(checkout)} ${told({
          jobsPerSecond: median('jobsPerSecond'),
          cpuMsPerJob: median('cpuMsPerJob'),
          requestsPerJob: median('requestsPerJob'),
          bystanderP99Ms: median('bystanderP99Ms'),
          bystanderLongestMs: median('bystanderLongestMs'),
        })}`,
      );
    }
  }
process.exit(0);

function nameOf(checkout: string): string {
  return checkout === here ? 'here ' : 'there';
}

function told({ jobsPerSecond, cpuMsPerJob, requestsPerJob, ...bystander }: Figures): string {
  return (
    `${jobsPerSecond.toFixed(0)} jobs/s, ${cpuMsPerJob.toFixed(3)} ms CPU, ${requestsPerJob.toFixed(3)} requests a job, ` +
    `a heartbeat beside it p99 ${bystander.bystanderP99Ms.toFixed(1)} ms, longest ${bystander.bystanderLongestMs.toFixed(1)} ms`
  );
}

function startLapsed(jobs: number, latency: Latency) {
  return startNullEngine({ messages: 0, latency, lapsed: { jobs, 'warm-up': WARM_UP_JOBS } });
}
type Engine = Awaited<ReturnType<typeof startLapsed>>;

/** The checkout's own reaper, in a process of its own. */
function startReaper(checkout: string, { endpoint }: Engine) {
  const child = fork(join(checkout, 'bench', 'reaper-cost.ts'), ['child'], {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  if (values.share !== undefined) limitToShare(child.pid, Number(values.share));
  const exited = once(child, 'exit');
  const outcome = once(child, 'message').then(
    ([told]) => told as { reclaimed: number; cpuMs: number; wallMs: number },
  );
  child.send({
    dynamoDbEndpoint: endpoint,
    queueUrl: `${endpoint}/000000000000/null`,
    tableName: 'jobs',
    heap: false,
    warmUpTable: 'warm-up',
  });
  return { outcome, exited };
}

function limitToShare(pid: number | undefined, share: number): void {
  const group = '/sys/fs/cgroup/cpu/leasehold-bench';
  mkdirSync(group, { recursive: true });
  writeFileSync(join(group, 'cpu.cfs_period_us'), '20000');
  writeFileSync(join(group, 'cpu.cfs_quota_us'), String(Math.round(share * 20_000)));
  writeFileSync(join(group, 'cgroup.procs'), String(pid));
}

async function reclaim(checkout: string, jobs: number, latency: Latency) {
  const engine = await startLapsed(jobs, latency);
  const { outcome, exited } = startReaper(checkout, engine);
  const { reclaimed, cpuMs, wallMs } = await outcome;
  await exited;
  if (reclaimed !== jobs) throw new Error(`${checkout} reclaimed ${reclaimed} of ${jobs}`);
  const { Query = 0, BatchExecuteStatement = 0, SendMessageBatch = 0 } = await engine.requests();
  await engine.stop();
  return {
    jobsPerSecond: jobs / (wallMs / 1000),
    cpuMsPerJob: cpuMs / jobs,
    requestsPerJob: (Query + BatchExecuteStatement + SendMessageBatch) / (jobs + WARM_UP_JOBS),
  };
}

/** A process of this version renews one healthy lease again and again while the reaper of the checkout is at work. */
async function besideBystander(checkout: string, jobs: number, latency: Latency) {
  const engine = await startLapsed(jobs, latency);
  const bystander = await startProcess(
    {
      name: 'leasehold',
      program: join(here, 'bench', 'systems', 'leasehold-process.ts'),
      stores: { dynamodb: engine.endpoint, sqs: engine.endpoint },
    },
    { mode: 'bystand', queue: 'null', profile: 'fast', concurrency: 1 },
  );
  const { outcome, exited } = startReaper(checkout, engine);
  const requestsOf = async (operation: string) => (await engine.requests())[operation] ?? 0;
  const before = await requestsOf('GetItem');
  while ((await requestsOf('BatchExecuteStatement')) === 0) await sleep(10);
  await bystander.stats();
  // When its sweeps are over it reads rows that are not there.
  while ((await requestsOf('GetItem')) === before) await sleep(10);
  const waits = [...(await bystander.stats()).latenciesMs].sort((a, b) => a - b);
  await bystander.kill();
  await Promise.all([outcome, exited]);
  await engine.stop();
  return { bystanderP99Ms: quantile(waits, 0.99), bystanderLongestMs: waits.at(-1) ?? 0 };
}
