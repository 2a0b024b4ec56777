import { expect, it } from 'vitest';
import { systemRandom } from '../../../lib/aws/clock.ts';
import { createJobStore } from '../../../lib/protocol/store/job-store.ts';
import { claimWrite } from '../../../lib/protocol/writes/worker-writes.ts';
import { resolveSettings } from '../../../lib/settings/settings.ts';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';

const settings = resolveSettings({ shards: 1 });
const { skewMs } = settings;
const job = { jobId: 'j', type: 't', payload: '1', leaseMs: 30_000, maxAttempts: 5, maxCrashes: 3 };
const START = 1_800_000_000_000;

/** A clock that is off by so much. */
const offBy = (clock: ReturnType<typeof createFakeClock>, ms: number) => ({
  ...clock,
  now: () => clock.now() + ms,
});

it.each([
  [0, 0],
  [skewMs, skewMs],
  [-skewMs, 0],
  [0, -skewMs],
  [-skewMs, -skewMs],
])(
  'a claim that a frozen worker repeats is refused, though others had the job and gave it back (operator’s clock %i ms off, successor’s %i)',
  async (operatorIsOff, successorIsOff) => {
    const clock = createFakeClock(START);
    const table = createMemoryTable();
    const store = (ms: number) =>
      createJobStore({ table, clock: offBy(clock, ms), random: systemRandom, settings, actor: 'a' });
    const [operator, successor] = [store(operatorIsOff), store(successorIsOff)];
    const claim = claimWrite(
      { job, owner: 'frozen/1', skewMs, typeLimits: job },
      { changedBy: 'frozen/1', now: clock.now(), shards: 1, expiresAt: 1 },
    );
    expect(await table.apply(claim)).toMatchObject({ applied: true });

    for (let takenBack = 1; takenBack <= 3; takenBack++) {
      expect(await operator.takeBack('j')).toMatchObject({ outcome: 'written' });
      expect(await table.apply(claim)).toMatchObject({ applied: false, row: { status: 'pending' } });
      // The next worker takes the job as soon as it can.
      const claimed = () => successor.claim({ job, owner: `next/${takenBack}` });
      while ((await claimed()).outcome !== 'claimed') await clock.advance(100);
      expect(clock.now() - START).toBeLessThanOrEqual(takenBack * 5 * skewMs);
    }
  },
);

it('a job that has run for a while is given to the next worker at once', async () => {
  const clock = createFakeClock(START);
  const table = createMemoryTable();
  const store = createJobStore({ table, clock, random: systemRandom, settings, actor: 'a' });
  await store.claim({ job, owner: 'w/1' });
  await clock.advance(2 * skewMs + 1);
  expect(await store.takeBack('j')).toMatchObject({ outcome: 'written', job: { notBefore: clock.now() } });
  expect(await store.claim({ job, owner: 'w/2' })).toMatchObject({ outcome: 'claimed' });
});
