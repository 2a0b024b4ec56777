import { setTimeout as sleep } from 'node:timers/promises';
import { type DelayedStore, delayedStore, roundTripMs } from '../support/delayed-store.ts';
import type { Latency } from '../support/null-engine.ts';
import { type Spread, spreadOf } from '../support/statistics.ts';
import { startProcess } from '../support/worker-process.ts';
import type { Profile, System } from '../systems/system.ts';
import { LATENCIES, latencyName, shortJobs } from './null-engine-cost.ts';
import { type Bench, freshQueue, job } from './scenario.ts';

/** A full queue of jobs that do nothing, worked off by one process whose store is as far away as in production. */
export interface AtLatency {
  readonly concurrency: number;
  /** How far away: 0 is next door, 1 a good day, 2 a usual one. */
  readonly step: number;
  readonly latency: string;
  /** The settings; absent in figures from before others were measured: fast. */
  readonly profile?: Profile;
  /** Of the shortest question through the delay, as measured before the run. Absent for the null engine. */
  readonly roundTripMs?: number;
  readonly jobsPerSecond: Spread | undefined;
  readonly requestsPerJob: Spread | undefined;
  readonly cpuMsPerJob: Spread | undefined;
  /** Jobs that were not done when a run was given up, in all runs together. */
  readonly unfinished: number;
}

/** What Redis and PostgreSQL take within a zone, beside DynamoDB's and SQS's times within a region. */
const PEER_ROUND_TRIPS_MS = [0, 1, 2] as const;
const CONCURRENCIES = [10, 100] as const;
/** Fast settings everywhere; as the systems come, many at once on a usual day. */
const profilesAt = (concurrency: number, step: number): readonly Profile[] =>
  concurrency === 100 && step === 2 ? ['fast', 'default'] : ['fast'];
/** A slow system is stopped here, and judged by what it has done. */
const LIMIT_MS = 8000;

interface Run {
  readonly jobsPerSecond: number;
  readonly requestsPerJob: number;
  readonly cpuMsPerJob: number;
  readonly unfinished: number;
}

/** One row of the table: who, how far away, how many at once. */
interface Setup extends Pick<AtLatency, 'concurrency' | 'step' | 'latency' | 'profile' | 'roundTripMs'> {
  readonly system: System;
  run(jobs: number): Promise<Run>;
}

/** Every system takes its turn in each round, so that a mood of the machine meets all of them. */
export async function atLatency(
  bench: Bench,
  isWanted: (setup: Pick<AtLatency, 'concurrency' | 'step'>) => boolean = () => true,
): Promise<Record<string, AtLatency[]>> {
  const stores: DelayedStore[] = [];
  try {
    const setups: Setup[] = [];
    for (const system of bench.systems) {
      const all = system.name === 'leasehold' ? ours(system) : await peers(bench, system, stores);
      setups.push(...all.filter(isWanted));
    }
    const runs = new Map<Setup, Run[]>(setups.map((setup) => [setup, []]));
    const rounds = bench.quick ? 2 : 5;
    for (let round = 1; round <= rounds; round += 1) {
      for (const setup of round % 2 === 0 ? setups.toReversed() : setups) {
        const jobs = (setup.concurrency === 10 ? 2000 : 5000) * (bench.quick ? 0.2 : 1);
        const run = await setup.run(jobs);
        runs.get(setup)?.push(run);
        if (run.unfinished > 0) bench.say(`${told(setup)}: ${run.unfinished} of ${jobs} jobs not done`);
      }
      bench.say(`latency: round ${round} of ${rounds}`);
    }
    return bySystem(runs);
  } finally {
    for (const store of stores) await store.stop();
  }
}

const told = ({ system, concurrency, latency, profile }: Setup) =>
  `${system.title}, concurrency ${concurrency}, latency ${latency}, ${profile} settings`;

const ours = (system: System): Setup[] =>
  CONCURRENCIES.flatMap((concurrency) =>
    LATENCIES.flatMap((latency: Latency, step) =>
      profilesAt(concurrency, step).map((profile) => ({
        ...{ system, concurrency, step, latency: latencyName(latency), profile },
        run: (jobs: number) => shortJobs(system, { concurrency, jobs, latency, profile }),
      })),
    ),
  );

async function peers(bench: Bench, system: System, started: DelayedStore[]): Promise<Setup[]> {
  const setups: Setup[] = [];
  for (const [step, ms] of PEER_ROUND_TRIPS_MS.entries()) {
    const stores: Record<string, string> = {};
    let measured = 0;
    for (const [name, url] of Object.entries(system.stores)) {
      const store = ms === 0 ? undefined : await delayedStore(url, ms);
      if (store !== undefined) started.push(store);
      stores[name] = store?.url ?? url;
      measured = await roundTripMs(stores[name]);
      if (measured < ms) throw new Error(`${url} answers after ${measured} ms where ${ms} ms are meant`);
    }
    bench.say(`${system.title}, ${ms} ms: its store answers after ${measured.toFixed(2)} ms`);
    for (const concurrency of CONCURRENCIES)
      for (const profile of profilesAt(concurrency, step))
        setups.push({
          ...{ system, concurrency, step, latency: ms === 0 ? 'none' : `${ms} ms`, profile },
          roundTripMs: measured,
          run: (jobs) => workOff(system, stores, { concurrency, jobs, profile }),
        });
  }
  return setups;
}

/** Jobs are sent past the delay, and worked off behind it. */
async function workOff(
  system: System,
  stores: System['stores'],
  { concurrency, jobs, profile }: { concurrency: number; jobs: number; profile: Profile },
): Promise<Run> {
  const queue = await freshQueue(system, profile);
  await system.enqueue(
    queue,
    Array.from({ length: jobs }, () => job('nothing')),
  );
  const process = await startProcess({ ...system, stores }, { mode: 'work', queue, profile, concurrency });
  // Each line is looked at once: more would take processor time from what is measured.
  for (
    let [seen, ended, limit] = [0, 0, Date.now() + LIMIT_MS];
    ended < jobs && Date.now() < limit;
    await sleep(50)
  )
    for (; seen < process.lines.length; seen += 1) if (process.lines[seen]?.event === 'end') ended += 1;
  // The last completions are still on their way.
  await sleep(200);
  const stats = await process.stats();
  await process.kill();
  await system.discard?.(queue);
  const times = (event: 'start' | 'end') =>
    process.lines.flatMap((line) => (line.event === event ? [line.at] : []));
  const [[first = 0], ends] = [times('start'), times('end')];
  const done = Math.max(1, ends.length);
  return {
    jobsPerSecond: done / (Math.max(1, (ends.at(-1) ?? 0) - first) / 1000),
    requestsPerJob: stats.requests / done,
    cpuMsPerJob: stats.cpuMs / done,
    unfinished: jobs - ends.length,
  };
}

function bySystem(runs: ReadonlyMap<Setup, readonly Run[]>): Record<string, AtLatency[]> {
  const results: Record<string, AtLatency[]> = {};
  for (const [{ system, concurrency, step, latency, profile, roundTripMs: measured }, own] of runs) {
    const spread = (of: keyof Run) => spreadOf(own.map((run) => run[of]));
    results[system.name] = [
      ...(results[system.name] ?? []),
      {
        ...{ concurrency, step, latency, profile, roundTripMs: measured },
        jobsPerSecond: spread('jobsPerSecond'),
        requestsPerJob: spread('requestsPerJob'),
        cpuMsPerJob: spread('cpuMsPerJob'),
        unfinished: own.reduce((sum, run) => sum + run.unfinished, 0),
      },
    ];
  }
  return results;
}
