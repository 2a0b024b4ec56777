import { describe, expect, it } from 'vitest';
import type { Claim } from '../../../lib/protocol/job.ts';
import { claimOf } from '../../../lib/protocol/job.ts';
import type { JobStore } from '../../../lib/protocol/ports.ts';
import { createJobStore } from '../../../lib/protocol/store/job-store.ts';
import { resolveSettings } from '../../../lib/settings/settings.ts';
import { createFakeClock, type FakeClock } from '../../../lib/testing/fake-clock.ts';
import { createFakeRandom } from '../../../lib/testing/fake-random.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { gatherCompletions } from '../../../lib/worker/run/gather-completions.ts';

const settings = resolveSettings();

/** A store in memory that notes how completions reach it, and can be made to hang. */
function createScene() {
  const clock = createFakeClock();
  const memory = createJobStore({
    table: createMemoryTable(),
    clock,
    random: createFakeRandom(),
    settings,
    actor: 'test',
  });
  const batches: number[] = [];
  let gate: Promise<void> = Promise.resolve();
  const watched: JobStore = {
    ...memory,
    async completeMany(ends) {
      batches.push(ends.length);
      await gate;
      return memory.completeMany(ends);
    },
  };
  let claims = 0;
  const claim = async (): Promise<Claim> => {
    claims += 1;
    const { leaseMs, maxAttempts, maxCrashes } = settings;
    const job = { jobId: `job-${claims}`, type: 't', payload: '1', leaseMs, maxAttempts, maxCrashes };
    const outcome = await memory.claim({ job, owner: `w/${claims}` });
    if (outcome.outcome !== 'claimed') throw new Error(outcome.outcome);
    return claimOf(outcome.job);
  };
  return {
    clock,
    memory,
    batches,
    claim,
    claimMany: (count: number) => Promise.all(Array.from({ length: count }, claim)),
    store: gatherCompletions(watched, clock),
    hang() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return () => {
        gate = Promise.resolve();
        resolve();
      };
    },
  };
}

const WINDOW_MS = 5;

/** Waits for the outcomes while the clock goes on. */
async function settled<T>(scene: { readonly clock: FakeClock }, outcomes: Promise<T>): Promise<T> {
  await scene.clock.advance(WINDOW_MS);
  return outcomes;
}

describe('gathered completions', () => {
  it('writes the completions of a few milliseconds with one request, each with its own result', async () => {
    const scene = createScene();
    const claims = await scene.claimMany(10);
    const early = claims.slice(0, 5).map((claim, i) => scene.store.complete(claim, { i }));
    await scene.clock.advance(WINDOW_MS - 1);
    expect(scene.batches).toEqual([]);
    const late = claims.slice(5).map((claim, i) => scene.store.complete(claim, { i: i + 5 }));
    const outcomes = await settled(scene, Promise.all([...early, ...late]));
    expect(outcomes.every(({ outcome }) => outcome === 'written')).toBe(true);
    expect(scene.batches).toEqual([10]);
    const rows = await Promise.all(claims.map(({ jobId }) => scene.memory.read(jobId)));
    expect(rows.map((row) => row?.status === 'done' && row.result)).toEqual(claims.map((_, i) => ({ i })));
  });

  it('throw the store’s error to every job of a batch, and continue', async () => {
    const scene = createScene();
    const claims = await scene.claimMany(3);
    let isDown = true;
    const completeMany: JobStore['completeMany'] = async (ends) => {
      if (isDown) throw new Error('down');
      return scene.memory.completeMany(ends);
    };
    const broken = gatherCompletions({ ...scene.memory, completeMany }, scene.clock);
    const ends = await settled(scene, Promise.allSettled(claims.map((claim) => broken.complete(claim))));
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    isDown = false;
    await expect(settled(scene, broken.complete(claims[0] as Claim))).resolves.toEqual({
      outcome: 'written',
    });
  });
});
