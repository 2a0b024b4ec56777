import { describe, expect, it } from 'vitest';
import { systemRandom } from '../../lib/aws/clock.ts';
import { decodeKey, decodePlace, encodeKey, encodePlace } from '../../lib/client/cursor.ts';
import { claimOf, type Job } from '../../lib/protocol/job.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { defaultSettings } from '../../lib/settings/settings.ts';
import { createFakeClock } from '../../lib/testing/fake-clock.ts';
import { createMemoryTable } from '../../lib/testing/memory-table.ts';
import { factsOf, tellFacts } from '../../lib/tools/inspect/facts.ts';
import { nextSteps } from '../../lib/tools/inspect/next-steps.ts';

const settings = defaultSettings;
const setUp = () => {
  const clock = createFakeClock();
  const table = createMemoryTable();
  const store = createJobStore({ table, clock, random: systemRandom, settings, actor: 'test' });
  const job = (jobId: string) => ({
    ...{ jobId, type: 'email', payload: '1', leaseMs: 30_000, maxAttempts: 5, maxCrashes: 3 },
  });
  const claim = async (jobId: string, owner: string) => {
    const outcome = await store.claim({ job: job(jobId), owner });
    if (outcome.outcome !== 'claimed') throw new Error(outcome.outcome);
    return outcome.job;
  };
  const read = async (jobId: string) => (await store.read(jobId)) as Job;
  return { clock, table, store, job, claim, read };
};

describe('a place in a listing', () => {
  it('survives being pasted, and is refused when it is not one', () => {
    const ties: Record<string, string>[] = [{ r0: 'a' }, { f12: 'bad:a-b.c_D', q3: 'by hand/ü 100%:x' }, {}];
    for (const upTo of ties) {
      const place = { at: 1_800_000_000_123, upTo };
      expect(decodePlace(encodePlace(place))).toEqual(place);
    }
    expect(encodePlace({ at: 1_800_000_000_123, upTo: { r0: 'invoice-1' } })).toBe(
      '1800000000123/r0:invoice-1',
    );
    expect(decodePlace(undefined)).toBeUndefined();
    for (const text of ['', 'x', '1/', '1/r0', '1/r0:', '1/r0:%', '/r0:a', '~a'])
      expect(() => decodePlace(text)).toThrow('the cursor is');
    for (const jobId of ['a', 'by hand ü%']) expect(decodeKey(encodeKey(jobId))).toEqual({ jobId });
    for (const text of ['', '~', '~%', '1/r0:a']) expect(() => decodeKey(text)).toThrow('the cursor is');
  });
});

describe('the facts of a job', () => {
  it('show checkpoint, progress and a requested cancellation', async () => {
    const { clock, store, claim, read } = setUp();
    const claimed = claimOf(await claim('j', 'w/0'));
    await store.checkpoint(claimed, { seq: 2, checkpoint: 5, progress: { done: 3 } });
    await store.cancel('j');
    const facts = tellFacts(factsOf(await read('j')), 'pending');
    const next = nextSteps(await read('j'), clock.now(), settings);
    expect(facts).toContain('checkpoint 2 is saved: the next attempt continues from there');
    expect(facts).toContain('progress: {"done":3}');
    expect(next[0]?.message).toContain('sees the cancellation in the reply to its next heartbeat');
  });
});
