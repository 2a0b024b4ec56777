import { describe, expect, it } from 'vitest';
import { planDispatch } from '../../../lib/protocol/decisions/dispatch.ts';
import type { RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import { newJob, settings } from '../../support/jobs.ts';
import { memoryStore } from '../../support/memory-store.ts';

const JOB = newJob('job-1');

function setUp() {
  const { memory, clock, store, writes } = memoryStore();
  const dispatch = () => planDispatch(clock.now(), clock.now(), settings);
  return { table: memory, clock, store, dispatch, lastWrite: () => writes.at(-1) as RowWrite };
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
});
