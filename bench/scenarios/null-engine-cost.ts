import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Spread, spreadOf } from '../support/statistics.ts';
import { startProcess } from '../support/worker-process.ts';
import type { ProcessOrders, System } from '../systems/system.ts';

/** What a worker process itself needs for a short job: nothing of it is the engine's. */
export interface OwnCost {
  readonly variant: string;
  readonly concurrency: number;
  readonly requestsPerJob: number;
  readonly cpuMsPerJob: Spread | undefined;
  readonly jobsPerSecond: Spread | undefined;
}

type Without = NonNullable<ProcessOrders['without']>;

const VARIANTS: readonly { readonly variant: string; readonly without: Without }[] = [
  { variant: 'one request for each write', without: ['reaper', 'batches'] },
  { variant: 'claims and completions together', without: ['reaper'] },
];

/** Runs the real worker process against a server that answers at once and does nothing. */
export async function ownCost(
  leasehold: System,
  options: { readonly runs: number; readonly jobs: number },
  say: (text: string) => void,
): Promise<OwnCost[]> {
  const costs: OwnCost[] = [];
  for (const concurrency of [1, 10, 100])
    for (const { variant, without } of VARIANTS) {
      // Nothing can be put together where one job runs at a time.
      if (concurrency === 1 && without.length > 1) continue;
      const jobs = concurrency === 1 ? options.jobs / 5 : options.jobs;
      const runs = [];
      for (let run = 0; run < options.runs; run += 1)
        runs.push(await oneRun(leasehold, { concurrency, without, jobs }));
      say(`null engine, concurrency ${concurrency}, ${variant}`);
      costs.push({
        variant,
        concurrency,
        requestsPerJob: runs[0]?.requestsPerJob ?? 0,
        cpuMsPerJob: spreadOf(runs.map((run) => run.cpuMsPerJob)),
        jobsPerSecond: spreadOf(runs.map((run) => run.jobsPerSecond)),
      });
    }
  return costs;
}

async function oneRun(
  leasehold: System,
  { concurrency, without, jobs }: { concurrency: number; without: Without; jobs: number },
) {
  const program = new URL('../support/null-engine.ts', import.meta.url).pathname;
  const engine = spawn(process.execPath, [program, String(jobs)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const gone = once(engine, 'exit');
  const [endpoint] = (await once(createInterface({ input: engine.stdout }), 'line')) as [string];
  const process_ = await startProcess(
    { ...leasehold, stores: { dynamodb: endpoint, sqs: endpoint } },
    { mode: 'work', queue: 'null', profile: 'fast', concurrency, without },
  );
  const times = (event: 'start' | 'end') =>
    process_.lines.flatMap((line) => (line.event === event ? [line.at] : []));
  for (const limit = Date.now() + 120_000; times('end').length < jobs && Date.now() < limit; )
    await sleep(50);
  await sleep(200);
  const stats = await process_.stats();
  await process_.kill();
  engine.stdin.end();
  await gone;
  const lastedMs = (times('end').at(-1) ?? 0) - (times('start')[0] ?? 0);
  return {
    requestsPerJob: stats.requests / jobs,
    cpuMsPerJob: stats.cpuMs / jobs,
    jobsPerSecond: jobs / (lastedMs / 1000),
  };
}
