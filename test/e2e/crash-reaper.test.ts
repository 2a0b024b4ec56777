import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Job } from '../../lib/protocol/job.ts';
import { type CrashStage, dieAt, setCrashStage, writes } from '../support/crash-stage.ts';
import { isDeep } from '../support/depth.ts';
import { newJob } from '../support/jobs.ts';
import { lapsesOf } from '../support/worker-stack.ts';

let stage: CrashStage;

beforeEach(async () => {
  stage = await setCrashStage();
});
afterEach(() => stage.close());

/** Leases of a worker that died long ago. */
async function orphan(jobIds: readonly string[]): Promise<void> {
  const { direct, lapse } = stage.stack;
  const job = { type: 'journal', payload: JSON.stringify({ steps: 1, stepMs: 1 }) };
  for (const jobId of jobIds) {
    await direct.store.claim({ job: newJob(jobId, job), owner: 'dead/1' });
    await lapse(jobId);
  }
}

/** Done, with one lapse. */
function expectChargedOnce(jobs: readonly Job[]): void {
  for (const job of jobs) {
    expect(job).toMatchObject({ status: 'done', errors: 0 });
    expect(lapsesOf(job)).toBe(1);
    expect(job.attempt).toBe(1 + job.lapses + job.releases);
  }
}

describe('a reaper process that is killed', () => {
  it('between taking a job back and sending its hint: another reaper sends it', async () => {
    await orphan(['a']);
    const first = stage.reaper({ revives: false });
    await dieAt(stage.stack.sqs, first, writes.hints, 'before');
    const pending = await stage.stack.until('a', (job) => job?.status === 'pending');
    expect(pending).toMatchObject({ lapses: 1, attempt: 1 });
    stage.worker();
    stage.reaper();
    const [job] = await stage.finished('a');
    expect(job).toMatchObject({ status: 'done', attempt: 2 });
    expect(lapsesOf(job)).toBe(1);
  });

  it.runIf(isDeep)('in the middle of many: none is lost, and none is charged twice', async () => {
    const jobIds = Array.from({ length: 30 }, (_, i) => `job-${i}`);
    await orphan(jobIds);
    const first = stage.reaper({ revives: false });
    await dieAt(stage.stack.dynamodb, first, writes.batch, 'after');
    stage.worker();
    stage.reaper();
    const jobs = await stage.finished(...jobIds);
    expectChargedOnce(jobs);
    // Each ran once: the first reaper's unsent hints, and the second's, led to one claim.
    const starts = stage.journal().filter(({ event }) => event === 'start');
    expect(starts.map(({ jobId }) => jobId).sort()).toEqual([...jobIds].sort());
  });

  it.runIf(isDeep)('again and again while another one works: every job is done, charged once', async () => {
    const jobIds = Array.from({ length: 10 }, (_, i) => `job-${i}`);
    await orphan(jobIds);
    stage.worker();
    const [mortal] = [stage.reaper(), stage.reaper()];
    const killing = setInterval(() => mortal.kill(), 300);
    const jobs = await stage.finished(...jobIds).finally(() => clearInterval(killing));
    expectChargedOnce(jobs);
    expect(mortal.deaths).toBeGreaterThan(0);
  });
});
