import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type CrashStage, setCrashStage } from '../support/crash-stage.ts';

let stage: CrashStage;

beforeEach(async () => {
  stage = await setCrashStage();
});
afterEach(() => stage.close());

describe('a worker that is stopped past its lease and goes on', () => {
  it('finds its job done by another worker, and changes nothing', async () => {
    const { stack } = stage;
    const zombie = stage.worker();
    await stack.send('journal', { steps: 12, stepMs: 100, fates: {} }, { jobId: 'a' });
    await stack.until('a', (job) => job?.status === 'running' && job.checkpointSeq >= 2);
    zombie.pause();
    await stack.lapse('a');
    stage.reaper();
    await stack.until('a', (job) => (job?.lapses ?? 0) === 1);
    stage.worker();
    const [done] = await stage.finished('a');
    zombie.resume();
    await expect
      .poll(() => stage.journal().find(({ event, attempt }) => event === 'abort' && attempt === 1))
      .toMatchObject({ reason: 'LEASE_LOST' });
    expect(await stack.read('a')).toEqual(done);
    expect(done).toMatchObject({ status: 'done', attempt: 2, result: { attempt: 2 } });
    // Its successor went on from the last step that was stored, and nothing was done twice that had been stored.
    const effects = stage.journal().filter(({ event }) => event === 'effect');
    const stored = stage.journal().findLast(({ event, attempt }) => event === 'stored' && attempt === 1);
    const second = effects.filter(({ attempt }) => attempt === 2).map(({ step }) => step);
    expect(Math.min(...second.map(Number))).toBeGreaterThanOrEqual(stored?.step ?? 0);
  });
});
