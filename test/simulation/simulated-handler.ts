import { NonRetryableError } from '../../lib/protocol/errors.ts';
import type { JsonValue } from '../../lib/wire/message.ts';
import type { HandlerJob, JobContext, JobDefinition, Schema } from '../../lib/worker/define-job.ts';
import type { Judge, Run } from './judge.ts';
import type { Process } from './world.ts';

export const SIMULATED_TYPE = 'simulated';
const MOST_STEPS = 3;

const anything: Schema = {
  '~standard': { version: 1, vendor: 'simulation', validate: (value) => ({ value }) },
};

/** The one type of job in the simulation, as it runs in this process. */
export const simulatedJob = (process: Process, judge: Judge): JobDefinition => ({
  type: SIMULATED_TYPE,
  limit: judge.limits.limit,
  payload: anything,
  async run(job, context) {
    const run: Run = {
      jobId: job.jobId,
      attempt: job.attempt,
      process,
      believesLive: () => !context.signal.aborted,
    };
    judge.begin(run);
    judge.cells.begun(process, run);
    try {
      return await work(process, judge, job, context as JobContext);
    } finally {
      judge.end(run);
      judge.cells.ended(run);
    }
  },
});

/**
 * Does some steps of work with a checkpoint after each, then returns which attempt it was. On the way it may throw, kill its
 * process, or ignore its signal and carry on as a zombie.
 */
async function work(process: Process, judge: Judge, job: HandlerJob, context: JobContext): Promise<number> {
  const { world, clock, random } = process;
  const { stepMs, overrunMs } = world.pace;
  const ignoresSignal = world.fault('handlerIgnoresSignal', process.name);
  const { pad, poison } = job.payload as { readonly pad?: string; readonly poison?: boolean | 'host' };
  const { at: done } = (job.checkpoint ?? { at: 0 }) as { readonly at: number };
  const steps = random.integer(0, MOST_STEPS);
  const pause = (longestMs: number) =>
    clock.sleep(random.integer(0, longestMs), ignoresSignal ? undefined : context.signal);
  const save = (place: JsonValue) =>
    context.save(place).catch((error: unknown) => {
      if (!ignoresSignal) throw error;
    });
  if (poison === 'host') {
    await pause(stepMs);
    process.machine.die();
    await new Promise<never>(() => {});
  }
  // To save what was found is no progress.
  if (job.checkpoint !== undefined) await save(job.checkpoint as JsonValue);
  for (let step = 1; step <= steps; step++) {
    await pause(stepMs);
    if (random.chance(0.5)) await save({ at: done + step, pad: pad ?? null });
  }
  if (steps === MOST_STEPS && pad !== undefined)
    // More often than there are slots for it, and not put off by those that fail.
    for (let n = 1; n <= 10; n++) await context.save({ at: done + steps, n, pad }).catch(() => {});
  if (poison === true || world.fault('handlerKillsProcess', process.name)) {
    process.die();
    await new Promise<never>(() => {});
  }
  await pause(ignoresSignal ? overrunMs : stepMs);
  if (world.fault('handlerThrowsForGood', process.name)) {
    judge.gaveUpForGood(job.jobId);
    throw new NonRetryableError('planned, for good');
  }
  if (world.fault('handlerThrows', process.name)) throw new Error('planned');
  return job.attempt;
}
