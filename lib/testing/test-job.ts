import type { StandardSchemaV1 } from '@standard-schema/spec';
import { lapsesAt } from '../protocol/decisions/decide-reap.ts';
import { hintDelaySecondsOf } from '../protocol/decisions/dispatch.ts';
import { type FinishedJob, isFinished, type Job } from '../protocol/job.ts';
import type { ReceivedMessage } from '../protocol/ports.ts';
import { type JsonValue, jobBody, type SendOptions } from '../wire/message.ts';
import { BAD_MESSAGE_PREFIX } from '../wire/table.ts';
import { ShuttingDown } from '../worker/abort-reasons.ts';
import type { JobDefinition, Schema } from '../worker/define-job.ts';
import { createEngine, type Engine } from '../worker/intake/engine.ts';
import { checkTypes, createRegistry } from '../worker/registry.ts';
import type { Ending } from '../worker/run/claim-endings.ts';
import { createTestStack, type TestStack, type TestStackOptions, type TestWorker } from './test-stack.ts';

/**
 * A fault in a run. `cellDies`: the host reruns the job. `hostDies`: the reaper finds the lapsed lease. `loseLease`:
 * another worker has the job. `deadline`, `shutdown`: the invocation or process is ending.
 */
export type Fault = 'cellDies' | 'hostDies' | 'cancel' | 'loseLease' | 'deadline' | 'shutdown';

/** What goes wrong in a run, and when. */
export interface RunOptions {
  readonly fault?: Fault;
  /** Number of stored checkpoints before the fault. @default 0 */
  readonly after?: number;
}

/** How a run ended. `refused`: the message was rejected or deferred, or the job was finished. */
export type TestRunEnd = Ending | 'crashed' | 'refused';

/** A job under test on the real worker and reaper. */
export interface TestedJob {
  /** Lets time pass until the job is due, then runs it once. */
  run(options?: RunOptions): Promise<TestRunEnd>;
  /** Runs the job until it is finished. */
  finish(): Promise<FinishedJob>;
  /** Undefined before the first run. */
  row(): Promise<Job | undefined>;
  /** Stored checkpoints of all runs, in order. */
  readonly checkpoints: readonly JsonValue[];
  readonly stack: TestStack;
}

/** How the job under test is sent, and on which system. */
export interface TestJobOptions extends TestStackOptions {
  /** As a producer would set them. */
  readonly send?: SendOptions;
  /** Wraps each run's worker. `crash()` kills it and never returns. @internal */
  readonly alter?: (worker: TestWorker, crash: () => Promise<never>) => TestWorker;
}

const JOB_ID = 'job-under-test';
/** More than any budget allows, except releases. */
const MOST_RUNS = 100;

/** Sends one job to a test worker. Nothing runs until you call `run` or `finish`. */
export function testJob<Payload extends Schema, Checkpoint extends Schema>(
  definition: JobDefinition<string, Payload, Checkpoint>,
  payload: StandardSchemaV1.InferInput<Payload>,
  options: TestJobOptions = {},
): TestedJob {
  const stack = createTestStack(options);
  checkTypes(createRegistry([definition]).definitions, stack.settings);
  const jobId = options.send?.jobId ?? JOB_ID;
  const checkpoints: JsonValue[] = [];
  const row = () => stack.store.read(jobId);
  const body = jobBody(definition.type, payload, { jobId, ...options.send });
  const sent = stack.queue.sendJobs([{ body }]);

  const run = async ({ fault, after = 0 }: RunOptions = {}): Promise<TestRunEnd> => {
    await sent;
    const message = await nextMessage(stack, jobId);
    if (message === undefined) return 'refused';
    const stopping = new AbortController();
    const { promise: crashed, resolve: hasCrashed } = Promise.withResolvers<'crashed'>();
    const crash = (): Promise<never> => {
      worker.cutOff();
      hasCrashed('crashed');
      return new Promise(() => {});
    };
    let stored = 0;
    const reach = async (where: 'handler' | 'store') => {
      if (fault === undefined || stored++ !== after) return;
      if (fault === 'hostDies') await crash();
      else if (fault === 'cellDies') await dieIn(where, worker);
      else await injectFault(fault, stack, jobId, stopping);
    };
    const worker = stack.worker(createRegistry([watched(definition, reach)]));
    const altered = options.alter?.(worker, crash) ?? worker;
    const engine = createEngine(watchedCheckpoints(altered, checkpoints, reach));
    return Promise.race([deal(stack, engine, message, stopping.signal), crashed]);
  };

  const finish = async (): Promise<FinishedJob> => {
    for (let runs = 0; runs < MOST_RUNS; runs++) {
      const job = await row();
      if (job !== undefined && isFinished(job)) return job;
      await run();
      const rejected = stack.table
        .rows()
        .find(({ jobId: key }) => String(key).startsWith(BAD_MESSAGE_PREFIX));
      if (rejected !== undefined) throw new Error(`the message was rejected: ${String(rejected.lastError)}`);
    }
    throw new Error(
      `the job is not finished after ${MOST_RUNS} runs; if it needs more, call run() in a loop`,
    );
  };

  return { run, finish, row, checkpoints, stack };
}

async function nextMessage(
  { queue, store, settings, clock, sweep }: TestStack,
  jobId: string,
): Promise<ReceivedMessage | undefined> {
  for (let looks = 0; looks < MOST_RUNS; looks++) {
    const [message] = await queue.receive({ max: 1, waitSeconds: 0 });
    if (message !== undefined) return message;
    const job = await store.read(jobId);
    const lapse = job === undefined || isFinished(job) ? undefined : lapsesAt(job, settings);
    const next = [queue.nextAt(), lapse].filter((at) => at !== undefined);
    if (next.length === 0) return undefined;
    await clock.advance(Math.max(0, Math.min(...next) - clock.now()));
    await sweep();
  }
  return undefined;
}

/** The worker sees it at its next heartbeat. */
async function injectFault(
  fault: Exclude<Fault, 'cellDies' | 'hostDies'>,
  { store, queue, clock, settings }: TestStack,
  jobId: string,
  stopping: AbortController,
): Promise<void> {
  switch (fault) {
    case 'cancel':
      await store.cancel(jobId);
      return clock.advance(settings.heartbeatMs);
    case 'loseLease': {
      const taken = await store.takeBack(jobId);
      if (taken.outcome === 'written' && taken.job.status === 'pending')
        await queue.sendHints([{ jobId, delaySeconds: hintDelaySecondsOf(taken.job, clock.now()) }]);
      return clock.advance(settings.heartbeatMs);
    }
    case 'deadline':
    case 'shutdown':
      return stopping.abort(new ShuttingDown(fault));
  }
}

async function deal(
  { queue, clock, settings }: TestStack,
  engine: Engine,
  message: ReceivedMessage,
  stopping: AbortSignal,
): Promise<TestRunEnd> {
  const opened = await engine.open(message);
  const [claimed] = opened.kind === 'claimable' ? await engine.claim([opened]) : [];
  await queue.delete([message]);
  if (claimed?.kind !== 'claimed') return 'refused';
  // The worker waits for handlers that ignore their signal, so the clock must move.
  stopping.addEventListener('abort', () => setTimeout(() => void clock.advance(settings.deadlineMarginMs)));
  return engine.run(claimed, { stopping, releaseWithinMs: settings.deadlineMarginMs / 2 });
}

/** The handler hangs forever; its host stores pending requests, then notices the death. */
export const dieIn = async (where: 'handler' | 'store', worker: TestWorker): Promise<void> => {
  worker.killCell();
  if (where === 'handler') await new Promise(() => {});
};

const watched = (
  definition: JobDefinition,
  reach: (where: 'handler' | 'store') => Promise<void>,
): JobDefinition => ({
  ...definition,
  async run(job, context) {
    await reach('handler');
    return (await definition.run(job, context)) ?? undefined;
  },
});

/** Reports each checkpoint before the handler's `save` resolves. */
const watchedCheckpoints = (
  worker: TestWorker,
  checkpoints: JsonValue[],
  reach: (where: 'handler' | 'store') => Promise<void>,
): TestWorker => ({
  ...worker,
  store: {
    ...worker.store,
    async checkpoint(claim, kept) {
      const outcome = await worker.store.checkpoint(claim, kept);
      if (outcome.outcome === 'written' && kept.checkpoint !== undefined) {
        checkpoints.push(kept.checkpoint);
        await reach('store');
      }
      return outcome;
    },
  },
});
