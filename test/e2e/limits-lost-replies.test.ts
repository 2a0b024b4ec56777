import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Job } from '../../lib/protocol/job.ts';
import { parseGroup } from '../../lib/protocol/limits/group.ts';
import { pauseType, resumeType } from '../../lib/protocol/limits/operate.ts';
import { limitGroup } from '../../lib/wire/limits.ts';
import { type CrashStage, setCrashStage } from '../support/crash-stage.ts';
import { atDepth, isDeep } from '../support/depth.ts';
import { describeOnOneEngine } from '../support/engines.ts';
import { on } from '../support/faults.ts';
import { lapsesOf } from '../support/worker-stack.ts';

describeOnOneEngine('a limit, kept by several worker processes', (engine) => {
  let stage: CrashStage;
  beforeEach(async () => {
    stage = await setCrashStage({}, engine);
  });
  afterEach(() => stage.close());

  const send = (type: string, jobId: string, stepMs: number, key?: string) =>
    stage.stack.send(type, { steps: 2, stepMs }, { jobId, key });

  /** The most handlers that ran at one time; a killed attempt ends with its process. */
  const mostAtOnce = (jobIds: ReadonlySet<string>, killedAt = Number.POSITIVE_INFINITY): number => {
    const lines = stage.journal().filter(({ jobId }) => jobIds.has(jobId));
    const ended = new Set(
      lines.flatMap((line) => (line.event === 'end' ? [`${line.jobId} ${line.attempt}`] : [])),
    );
    const steps = lines.flatMap(({ event, at, jobId, attempt }): [at: number, by: number][] => {
      if (event === 'end') return [[at, -1]];
      if (event !== 'start') return [];
      return ended.has(`${jobId} ${attempt}`)
        ? [[at, 1]]
        : [
            [at, 1],
            [killedAt, -1],
          ];
    });
    let [running, most] = [0, 0];
    for (const [, by] of steps.sort(([a, x], [b, y]) => a - b || x - y)) {
      running += by;
      most = Math.max(most, running);
    }
    return most;
  };

  // Parking charges nothing. A checkpoint that gets no answer is an error of its attempt, whatever the limit.
  const expectUncharged = (jobs: readonly Job[]): void => {
    for (const job of jobs) {
      expect(job).toMatchObject({ status: 'done', crashes: 0 });
      if (job.errors > 0) expect(job.lastError).toContain('did not answer');
    }
  };

  it('holds while replies get lost and a worker is killed with the jobs that have the places; every job runs', async () => {
    const { stack } = stage;
    const first = stage.worker();
    const jobIds = Array.from({ length: atDepth(8, 12) }, (_, n) => `job-${n}`);
    for (const jobId of jobIds.slice(0, 4)) await send('two-at-once', jobId, 1500);
    const started = () => stage.journal().filter(({ event }) => event === 'start');
    await expect.poll(() => started().length).toBe(2);
    const killed = started().map(({ jobId }) => jobId);
    first.kill();
    const killedAt = Date.now();
    for (const jobId of killed) await stack.lapse(jobId);
    const lost = { kind: 'dropReply' } as const;
    stack.dynamodb.use(on(['UpdateItem', 'BatchExecuteStatement', 'BatchGetItem'], lost, { chance: 0.1 }));
    stack.sqs.use(on('SendMessageBatch', lost, { chance: 0.1 }));
    for (let n = 0; n < 2; n++) stage.worker();
    stage.reaper();
    for (const jobId of jobIds.slice(4)) await send('two-at-once', jobId, 50);
    const jobs = await stage.finished(...jobIds);
    expectUncharged(jobs);
    // A claim whose answer got lost is released.
    for (const job of jobs)
      expect([job.jobId, lapsesOf(job)]).toEqual([job.jobId, killed.includes(job.jobId) ? 1 : 0]);
    expect(mostAtOnce(new Set(jobIds), killedAt)).toBe(2);
  });

  it.runIf(isDeep)('holds for each of many keys, through a pause under load; every job runs', async () => {
    const { stack } = stage;
    const keys = Array.from({ length: 8 }, (_, n) => `tenant-${n}`);
    const sent = new Map<string, string>();
    const more = async () => {
      for (const key of keys) {
        const jobId = `job-${sent.size}`;
        sent.set(jobId, key);
        await send('one-of-a-key', jobId, 20, key);
      }
    };
    for (let n = 0; n < 3; n++) stage.worker();
    stage.reaper();
    await more();
    await more();
    const [some] = sent.keys();
    await stack.until(some ?? '', (job) => job?.status === 'done');
    await pauseType({ ...stack.direct, by: 'operator' }, 'one-of-a-key');
    // Each worker notices within 10 s: what comes later waits for the end of the pause.
    const isPaused = (job: Job | undefined) =>
      job?.status === 'pending' && job.waitsFor?.startsWith('pause:');
    let before: string[] = [];
    const arePaused = async () => {
      const rows = await Promise.all(before.map((jobId) => stack.read(jobId)));
      if (rows.length > 0 && rows.every(isPaused)) return true;
      before = [...sent.keys()].slice(-keys.length);
      await more();
      return false;
    };
    await expect.poll(arePaused, { interval: 1500 }).toBe(true);
    await resumeType({ ...stack.direct, by: 'operator' }, 'one-of-a-key');
    expectUncharged(await stage.finished(...sent.keys()));
    for (const key of keys) {
      const ofKey = [...sent].flatMap(([jobId, each]) => (each === key ? [jobId] : []));
      expect([key, mostAtOnce(new Set(ofKey))]).toEqual([key, 1]);
      await expect
        .poll(async () => parseGroup(await stack.direct.table.read(limitGroup('one-of-a-key', key))).members)
        .toEqual({});
    }
  });
});
