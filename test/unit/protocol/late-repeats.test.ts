import { describe, expect, it } from 'vitest';
import { planDispatch } from '../../../lib/protocol/decisions/dispatch.ts';
import { createJobStore } from '../../../lib/protocol/store/job-store.ts';
import type { RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import { defaultSettings } from '../../../lib/settings/settings.ts';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';
import { createFakeRandom } from '../../../lib/testing/fake-random.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';

const JOB = {
  jobId: 'job-1',
  type: 'x',
  payload: 'null',
  leaseMs: 30_000,
  maxAttempts: 3,
  maxCrashes: 3,
};

/** A store whose writes are kept, so that the network can deliver one a second time. */
function setUp() {
  const table = createMemoryTable();
  const clock = createFakeClock();
  const writes: RowWrite[] = [];
  const store = createJobStore({
    table: {
      ...table,
      apply(write) {
        writes.push(write);
        return table.apply(write);
      },
    },
    clock,
    random: createFakeRandom(),
    settings: defaultSettings,
    actor: 'operator',
  });
  const dispatch = () => planDispatch(clock.now(), clock.now(), defaultSettings);
  const lastWrite = () => writes.at(-1) as RowWrite;
  return { table, clock, store, dispatch, lastWrite };
}

describe('a write that arrives a second time, long after its sender had its answer', () => {
  it('does not cancel a job again that was revived in between', async () => {
    const { table, clock, store, dispatch, lastWrite } = setUp();
    await store.schedule(JOB, dispatch());
    await store.cancel(JOB.jobId);
    const cancel = lastWrite();
    await clock.advance(1);
    await store.revive(JOB.jobId);

    expect(await table.apply(cancel)).toMatchObject({ applied: false, row: { status: 'pending' } });
  });

  it('does not revive a job again that was cancelled in between', async () => {
    const { table, clock, store, dispatch, lastWrite } = setUp();
    await store.schedule(JOB, dispatch());
    await store.cancel(JOB.jobId);
    await clock.advance(1);
    await store.revive(JOB.jobId);
    const revive = lastWrite();
    await store.cancel(JOB.jobId);

    expect(await table.apply(revive)).toMatchObject({ applied: false, row: { status: 'cancelled' } });
  });

  it('still lets an operator revive a job that was cancelled twice', async () => {
    const { store, clock, dispatch } = setUp();
    await store.schedule(JOB, dispatch());
    for (let round = 0; round < 2; round++) {
      expect(await store.cancel(JOB.jobId)).toMatchObject({ outcome: 'written' });
      await clock.advance(1);
      expect(await store.revive(JOB.jobId)).toMatchObject({ outcome: 'written' });
    }
  });
});
