import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from '../../lib/protocol/job.ts';
import { parseJob } from '../../lib/protocol/rows/parse-row.ts';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { jobBody } from '../../lib/wire/message.ts';
import { awaitTheEnd, indexOf } from '../chaos/await-the-end.ts';
import { type ChaosSystem, startChaosSystem } from '../chaos/chaos-system.ts';
import { checkEvidence } from '../chaos/check-evidence.ts';
import { followJournal, readJournal } from '../support/journal.ts';
import { programs, startMortalProcess } from '../support/mortal-process.ts';
import { derivedSeed, type SeededRandom, seededRandom } from '../support/random.ts';
import { jobProblems, trendProblems } from './judge-soak.ts';
import { createSampler, type InsideSample, type SoakSample } from './soak-sample.ts';

export interface SoakOptions {
  readonly seed: number;
  readonly seconds: number;
  /** How many run at once, all the time. */
  readonly jobs: number;
  readonly log: (line: string) => void;
}

export interface SoakReport {
  readonly samples: readonly SoakSample[];
  readonly done: number;
  readonly problems: readonly string[];
}

const SAMPLE_EVERY_MS = 5000;
const TELL_EVERY = 12;
/** In a shorter run heaps and pools still grow to their size: its trends are told, not judged. */
const LEAST_JUDGED_SECONDS = 600;
/** Beyond those that run: a slot that gets free finds the next job waiting. */
const WAITING = 0.05;

/** One worker process with many jobs at once on real engines, undisturbed: whatever grows is a leak. */
export async function runSoak(options: SoakOptions): Promise<SoakReport> {
  const { seed, seconds, jobs } = options;
  // Leases, heartbeats and cells as they are without any settings.
  const system = await startChaosSystem(
    resolveSettings({ processConcurrency: jobs, maxRunning: Math.max(1000, jobs), eventsEnabled: false }),
  );
  const environment = system.environment({ dynamodb: system.dynamodb, sqs: system.sqs });
  const reaper = startMortalProcess({ program: programs.reaper, environment });
  const worker = fork(join(import.meta.dirname, 'soak-worker.ts'), {
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  try {
    await Promise.all([once(worker, 'message'), reaper.ready()]);
    const samples: SoakSample[] = [];
    const until = performance.now() + seconds * 1000;
    const sampling = watch(system, worker, { ...options, until, samples });
    const [sent] = await Promise.all([
      keepBusy(system, { jobs, until, random: seededRandom(derivedSeed(seed, 'soak')) }),
      sampling,
    ]);
    options.log(`${sent.length} jobs were sent; the last of them are left to end`);
    const overdue = await awaitTheEnd(system, sent);
    const isAlive = worker.exitCode === null && worker.signalCode === null;
    await stop(worker);
    const ended = await judgeJobs(system, sent, overdue);
    return {
      ...{ samples, done: ended.done },
      problems: [
        ...(isAlive && reaper.deaths === 0 ? [] : ['the worker or the reaper died']),
        ...ended.problems,
        ...(seconds < LEAST_JUDGED_SECONDS ? [] : trendProblems(samples, jobs)),
      ],
    };
  } finally {
    await Promise.all([stop(worker), reaper.stop()]);
    await system.stop();
  }
}

async function stop(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return;
  const exited = once(worker, 'exit');
  worker.kill('SIGTERM');
  await exited;
}

/** Samples until the end, and tells how it goes. */
async function watch(
  system: ChaosSystem,
  worker: ChildProcess,
  { until, samples, log }: SoakOptions & { readonly until: number; readonly samples: SoakSample[] },
): Promise<void> {
  const gone = new AbortController();
  worker.once('exit', (code, signal) =>
    gone.abort(new Error(`the worker died (${signal ?? `exit code ${code}`})`)),
  );
  const sample = createSampler({
    pid: worker.pid ?? 0,
    leases: () => indexOf(system),
    async inside() {
      const answer = once(worker, 'message', gone);
      worker.send('how are you');
      return (await answer)[0] as InsideSample;
    },
  });
  while (performance.now() < until) {
    await sleep(SAMPLE_EVERY_MS);
    const taken = await sample();
    samples.push(taken);
    if (samples.length % TELL_EVERY === 0) log(lineOf(taken));
  }
}

function lineOf(sample: SoakSample): string {
  const { running, leases, processes, hostDescriptors, cellsDescriptors, heldMb } = sample;
  const whole = Math.round;
  return [
    `${(sample.atMs / 60_000).toFixed(1).padStart(5)} min`,
    `${running} running, ${leases} leases, slimmest ${(sample.marginMs / 1000).toFixed(1)} s`,
    `${whole(sample.beatsPerSecond)} beats/s, ${whole(sample.requestsPerSecond)} requests/s`,
    `host ${whole(sample.hostRssMb)} MB (own ${whole(sample.hostOwnMb)}, held ${heldMb === undefined ? '?' : whole(heldMb)})`,
    `cells ${whole(sample.cellsRssMb)} MB (own ${whole(sample.cellsOwnMb)})`,
    `${hostDescriptors} + ${cellsDescriptors} descriptors, ${processes} processes`,
    `loop p99 ${whole(sample.loopDelayMs)} ms`,
  ].join(' | ');
}

/** Sends a job for each that ends; returns all that were accepted. */
async function keepBusy(
  { queue, journalFile }: ChaosSystem,
  { jobs, until, random }: { readonly jobs: number; readonly until: number; readonly random: SeededRandom },
): Promise<readonly string[]> {
  const accepted: string[] = [];
  const read = followJournal(journalFile);
  let ended = 0;
  for (let count = 0; performance.now() < until; await sleep(100)) {
    ended += read().filter(({ event }) => event === 'end').length;
    const wanted = Math.max(0, Math.ceil(jobs * (1 + WAITING)) - (accepted.length - ended));
    const fresh = Array.from({ length: wanted }, () => ({ jobId: `soak-${++count}`, ...payloadOf(random) }));
    const outcomes = await queue.sendJobs(
      fresh.map(({ jobId, steps, stepMs }) => ({ body: jobBody('journal', { steps, stepMs }, { jobId }) })),
    );
    for (const [i, { outcome }] of outcomes.entries())
      if (outcome === 'sent') accepted.push(fresh[i]?.jobId ?? '');
  }
  return accepted;
}

/** A minute or so, in which every third job saves a checkpoint now and then; the others save one at their end. */
function payloadOf(random: SeededRandom): { readonly steps: number; readonly stepMs: number } {
  const ms = random.integer(30_000, 90_000);
  const steps = random.chance(1 / 3) ? random.integer(3, 8) : 1;
  return { steps, stepMs: Math.floor(ms / steps) };
}

async function judgeJobs(system: ChaosSystem, accepted: readonly string[], overdue: readonly string[]) {
  const rows = await system.rows();
  const jobs: readonly Job[] = rows.map(parseJob);
  const broken = checkEvidence({
    ...{ settings: system.settings, accepted, rows, overdue },
    ...{ cancelled: new Map(), takenBack: new Map(), events: [], pauses: [] },
    index: await indexOf(system),
    journal: readJournal(system.journalFile),
  });
  return {
    done: jobs.filter(({ status }) => status === 'done').length,
    problems: [...broken.map(({ jobId, promise }) => `${jobId}: ${promise}`), ...jobProblems(jobs)],
  };
}
