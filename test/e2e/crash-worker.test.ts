import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Job } from '../../lib/protocol/job.ts';
import { type CrashStage, dieAt, setCrashStage, writes } from '../support/crash-stage.ts';
import { isDeep } from '../support/depth.ts';
import { lapsesOf } from '../support/worker-stack.ts';

let stage: CrashStage;
/** Reapers are killed elsewhere: here one in this process will do. */
let stopSweeping: (() => Promise<void>) | undefined;
const sweepOften = () => {
  stopSweeping = stage.stack.sweepOften();
};

beforeEach(async () => {
  stage = await setCrashStage();
});
afterEach(async () => {
  await stopSweeping?.();
  stopSweeping = undefined;
  await stage.close();
});

const steps = { steps: 2, stepMs: 50 };

describe('a worker process that is killed', () => {
  const moments = [['after the work, before the result is stored', 'complete', 'before', 1]] as const;
  const furtherMoments = [
    ['after its claim was granted, before it knows', 'claim', 'after', 1],
    // The message comes back to another worker, and nothing is charged.
    ['before its claim reaches the table', 'claim', 'before', 0],
    ['before a checkpoint is stored', 'checkpoint', 'before', 1],
    ['after a checkpoint was stored, before it knows', 'checkpoint', 'after', 1],
    ['after the result was stored, before it knows', 'complete', 'after', 0],
  ] as const;
  it.each(isDeep ? [...moments, ...furtherMoments] : moments)(
    '%s: its job is done all the same',
    async (_, write, when, lapses) => {
      const { stack } = stage;
      const worker = stage.worker();
      await worker.ready();
      const died = dieAt(stack.dynamodb, worker, writes[write], when);
      await stack.send('journal', steps, { jobId: 'a' });
      await died;
      if (lapses > 0) await stack.lapse('a');
      sweepOften();
      const [job] = await stage.finished('a');
      expect(job).toMatchObject({ status: 'done', errors: 0, attempt: 1 + lapses });
      expect(lapsesOf(job)).toBe(lapses);
      expect(job).toMatchObject({ result: { attempt: job?.attempt } });
      await expect.poll(() => worker.deaths).toBe(1);
      // A checkpoint that was stored is not lost with its worker: the next attempt starts from it.
      const starts = stage.journal().filter(({ event }) => event === 'start');
      if (write === 'checkpoint') expect(starts.at(-1)?.step).toBe(when === 'after' ? 1 : 0);
      if (write === 'complete' && when === 'before') expect(starts.at(-1)?.step).toBe(steps.steps);
    },
  );

  it('after a batch of ten was claimed, before it knows: all ten are done, each charged once', async () => {
    const { stack } = stage;
    const jobIds = Array.from({ length: 10 }, (_, i) => `job-${i}`);
    await Promise.all(jobIds.map((jobId) => stack.send('journal', steps, { jobId })));
    await dieAt(stack.dynamodb, stage.worker({ revives: false }), writes.batch, 'after');
    const claimed = async () => {
      const jobs = await Promise.all(jobIds.map((jobId) => stack.read(jobId)));
      return jobs.flatMap((job) => (job?.status === 'running' ? [job.jobId] : []));
    };
    await expect.poll(async () => (await claimed()).length).toBeGreaterThanOrEqual(3);
    await Promise.all((await claimed()).map((jobId) => stack.lapse(jobId)));
    stage.worker();
    sweepOften();
    const jobs = await stage.finished(...jobIds);
    expect(jobs.map(({ status }) => status)).toEqual(jobIds.map(() => 'done'));
    // How many came in the batch is up to the queue; those that did lost one attempt, and no job more than that.
    expect(jobs.filter((job) => lapsesOf(job) === 1).length).toBeGreaterThanOrEqual(3);
    // Every attempt but the last ended in one of three ways. On a machine that answers too late, a save is an error.
    const ends = ({ errors, crashes, releases }: Job) => errors + crashes + releases;
    expect(jobs.filter((job) => job.attempt !== 1 + ends(job))).toEqual([]);
    expect(Math.max(...jobs.map(lapsesOf))).toBe(1);
  });
});
