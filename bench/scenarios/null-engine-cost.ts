import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Latency, NullEngineOrders } from '../support/null-engine.ts';
import { type Spread, spreadOf } from '../support/statistics.ts';
import { startProcess } from '../support/worker-process.ts';
import type { ProcessOrders, Profile, System } from '../systems/system.ts';

/** What a worker process itself needs for a short job: nothing of it is the engine's. */
export interface OwnCost {
  readonly variant: string;
  readonly concurrency: number;
  /** As `latencyName` has it. Absent in figures from before it was measured: none. */
  readonly latency?: string;
  readonly requestsPerJob: number;
  readonly cpuMsPerJob: Spread | undefined;
  readonly jobsPerSecond: Spread | undefined;
}

type Without = NonNullable<ProcessOrders['without']>;

const TOGETHER = { variant: 'claims and completions together', without: ['reaper'] } as const;
const ONE_BY_ONE = { variant: 'one request for each write', without: ['reaper', 'batches'] } as const;

/** As far as real answers lie apart within a second. */
const JITTER = 0.2;
/** A server that answers at once, and what DynamoDB and SQS take within a region on a good day and on a usual one. */
export const LATENCIES: readonly Latency[] = [
  { dynamodbMs: 0, sqsMs: 0, jitter: 0 },
  { dynamodbMs: 5, sqsMs: 10, jitter: JITTER },
  { dynamodbMs: 10, sqsMs: 20, jitter: JITTER },
];

/** Such as "10 + 20 ms": DynamoDB's and SQS's. */
export const latencyName = ({ dynamodbMs, sqsMs }: Latency): string =>
  dynamodbMs + sqsMs === 0 ? 'none' : `${dynamodbMs} + ${sqsMs} ms`;

/** Runs the real worker process against a server that does nothing. */
export async function ownCost(
  leasehold: Pick<System, 'name' | 'program'>,
  options: { readonly runs: number; readonly jobs: number },
  say: (text: string) => void,
): Promise<OwnCost[]> {
  const costs: OwnCost[] = [];
  // Nothing can be put together where one job runs at a time.
  // What latency does to many at once is a part of its own.
  for (const concurrency of [1, 10, 100])
    for (const latency of concurrency === 1 ? LATENCIES : LATENCIES.slice(0, 1))
      for (const { variant, without } of concurrency === 1 ? [TOGETHER] : [ONE_BY_ONE, TOGETHER]) {
        const jobs = concurrency === 1 ? options.jobs / 20 : options.jobs;
        const runs = [];
        for (let run = 0; run < options.runs; run += 1)
          runs.push(await shortJobs(leasehold, { concurrency, without, jobs, latency }));
        say(`null engine, concurrency ${concurrency}, latency ${latencyName(latency)}, ${variant}`);
        costs.push({
          ...{ variant, concurrency, latency: latencyName(latency) },
          requestsPerJob: runs[0]?.requestsPerJob ?? 0,
          cpuMsPerJob: spreadOf(runs.map((run) => run.cpuMsPerJob)),
          jobsPerSecond: spreadOf(runs.map((run) => run.jobsPerSecond)),
        });
      }
  return costs;
}

/** One process works off a queue of jobs that do nothing. */
export async function shortJobs(
  leasehold: Pick<System, 'name' | 'program'>,
  {
    concurrency,
    without = TOGETHER.without,
    jobs,
    latency,
    payloadBytes,
    profile = 'fast',
  }: {
    concurrency: number;
    without?: Without;
    jobs: number;
    latency: Latency;
    payloadBytes?: number;
    profile?: Profile;
  },
) {
  const engine = await startNullEngine({ messages: jobs, latency, payloadBytes });
  const process_ = await startProcess(
    { ...leasehold, stores: { dynamodb: engine.endpoint, sqs: engine.endpoint } },
    { mode: 'work', queue: 'null', profile, concurrency, without },
  );
  const times = (event: 'start' | 'end') =>
    process_.lines.flatMap((line) => (line.event === event ? [line.at] : []));
  // Each job tells twice. Counting by looking at every line would take processor time from what is measured.
  for (const limit = Date.now() + 120_000; process_.lines.length < 2 * jobs && Date.now() < limit; )
    await sleep(50);
  await sleep(200);
  const stats = await process_.stats();
  await process_.kill();
  await engine.stop();
  const [first = 0, ends] = [times('start')[0], times('end')];
  return {
    requestsPerJob: stats.requests / jobs,
    cpuMsPerJob: stats.cpuMs / jobs,
    jobsPerSecond: ends.length / (((ends.at(-1) ?? 0) - first) / 1000),
    unfinished: jobs - ends.length,
  };
}

/** Starts the server that does nothing, in a process of its own. */
export async function startNullEngine(orders: NullEngineOrders) {
  const program = new URL('../support/null-engine.ts', import.meta.url).pathname;
  const engine = spawn(process.execPath, [program, JSON.stringify(orders)], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const gone = once(engine, 'exit');
  const [endpoint] = (await once(createInterface({ input: engine.stdout }), 'line')) as [string];
  return {
    endpoint,
    /** So many requests of each kind it was sent. */
    async requests(): Promise<Readonly<Record<string, number>>> {
      const headers = { 'x-amz-target': 'NullEngine.Requests' };
      return (await fetch(endpoint, { method: 'POST', headers })).json() as Promise<Record<string, number>>;
    },
    async stop() {
      engine.stdin.end();
      await gone;
    },
  };
}
