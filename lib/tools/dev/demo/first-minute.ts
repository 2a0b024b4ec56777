import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { isFinished, type Job } from '../../../protocol/job.ts';
import type { JobQueue, JobStore } from '../../../protocol/ports.ts';
import { jobBody } from '../../../wire/message.ts';
import { jobIdsOf } from '../message-jobs.ts';
import type { LocalStack } from '../stack.ts';

interface PlannedJob {
  readonly jobId: string;
  readonly type: string;
  readonly payload: unknown;
  readonly ends: 'done' | 'failed';
}

export interface Report {
  readonly jobs: readonly (PlannedJob & { readonly job: Job | undefined; readonly isAsExpected: boolean })[];
  readonly isAsExpected: boolean;
  readonly firstDoneAt?: number;
  readonly kill?: {
    readonly pid: number;
    readonly at: number;
    readonly reclaimedAt: number;
    readonly resumedAtStep: number;
    readonly doneAt: number;
  };
  readonly quarantine?: { readonly crashes: number };
}

export interface FirstMinuteOptions {
  readonly stack: LocalStack;
  readonly store: Pick<JobStore, 'read'>;
  readonly queue: Pick<JobQueue, 'sendJobs'>;
  readonly serviceUrl: string;
  readonly signal: AbortSignal;
  readonly print: (line: string) => void;
}

const STEPS = 12;
const STEP_MS = 450;
const KILLED_AFTER = 4;
const LOOK_EVERY_MS = 150;
const GIVE_UP_MS = 120_000;

function planJobs(serviceUrl: string): readonly PlannedJob[] {
  // Kept data has the jobs of earlier runs.
  const run = randomBytes(3).toString('hex');
  const job = (
    name: string,
    type: string,
    payload: unknown,
    ends: PlannedJob['ends'] = 'done',
  ): PlannedJob => ({
    jobId: `${name}-${run}`,
    type,
    payload,
    ends,
  });
  return [
    job('primes-1', 'count-primes', { below: 1_000_000 }),
    job('long-report', 'slow-steps', { steps: STEPS, stepMs: STEP_MS }),
    job('poison', 'poison', {}, 'failed'),
    job('checksum', 'checksum-file', { path: process.execPath, sliceBytes: 16 * 1024 * 1024 }),
    job('webhook-1', 'call-service', { url: serviceUrl, body: { order: 1 } }),
    job('webhook-2', 'call-service', { url: serviceUrl, body: { order: 2 } }),
    ...[2, 3, 4].map((n) => job(`primes-${n}`, 'count-primes', { below: n * 1_000_000 })),
  ];
}

export async function runFirstMinute(options: FirstMinuteOptions): Promise<Report> {
  const { store, queue, signal, print } = options;
  const plans = planJobs(options.serviceUrl);
  const [long, poison] = ['slow-steps', 'poison'].map((type) => plans.find((plan) => plan.type === type)) as [
    PlannedJob,
    PlannedJob,
  ];
  await queue.sendJobs(
    plans.map(({ jobId, type, payload }) => ({ body: jobBody(type, payload, { jobId }) })),
  );
  print(`${plans.length} jobs sent`);

  const rows = new Map<string, Job | undefined>();
  let killed: { readonly pid: number; readonly at: number } | undefined;
  const giveUpAt = Date.now() + GIVE_UP_MS;
  while (!signal.aborted && Date.now() < giveUpAt) {
    const open = plans.filter(({ jobId }) => !isEnded(rows.get(jobId)));
    if (open.length === 0) break;
    await Promise.all(open.map(async ({ jobId }) => rows.set(jobId, await store.read(jobId))));
    if (killed === undefined) {
      killed = killWorkerOf(options.stack, rows.get(long.jobId));
      if (killed !== undefined)
        print(`worker ${killed.pid} killed with SIGKILL, in the middle of ${long.jobId}`);
    }
    await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
  }
  return reportOf(plans, rows, long.jobId, poison.jobId, killed);
}

const isEnded = (job: Job | undefined): boolean => job !== undefined && isFinished(job);

const stepsOf = (job: Job): number => (job.checkpoint as { readonly step?: number } | undefined)?.step ?? 0;

function killWorkerOf(stack: LocalStack, job: Job | undefined) {
  if (job?.status !== 'running' || stepsOf(job) < KILLED_AFTER) return undefined;
  const worker = stack.workers().find(({ event }) => jobIdsOf(event).includes(job.jobId));
  if (worker === undefined || !stack.signal(worker.pid, 'kill')) return undefined;
  return { pid: worker.pid, at: Date.now() };
}

/** Uses the claims, because progress clears `crashes`. */
const lapseOf = (job: Job | undefined, after = 0) =>
  job?.claims.find(({ outcome, to }) => outcome === 'lapsed' && to > after);

function reportOf(
  plans: readonly PlannedJob[],
  rows: ReadonlyMap<string, Job | undefined>,
  long: string,
  poison: string,
  killed: { readonly pid: number; readonly at: number } | undefined,
): Report {
  const jobs = plans.map((plan) => {
    const job = rows.get(plan.jobId);
    return { ...plan, job, isAsExpected: job?.status === plan.ends };
  });
  const done = jobs.flatMap(({ job }) => (job?.status === 'done' ? [job.finishedAt] : []));
  const survivor = rows.get(long);
  // On a very busy machine, a lease may also have lapsed before the kill.
  const lapsed = lapseOf(survivor, killed?.at);
  const bad = rows.get(poison);
  const survived = survivor?.status === 'done' && lapsed !== undefined;
  return {
    jobs,
    isAsExpected: jobs.every((job) => job.isAsExpected) && survived,
    firstDoneAt: done.length === 0 ? undefined : Math.min(...done),
    kill:
      killed !== undefined && survived
        ? {
            ...killed,
            reclaimedAt: lapsed.to,
            resumedAtStep: (survivor.result as { resumedAt?: number } | undefined)?.resumedAt ?? 0,
            doneAt: survivor.finishedAt,
          }
        : undefined,
    quarantine: bad?.status === 'failed' ? { crashes: bad.crashes } : undefined,
  };
}
