import { describe, expect, it } from 'vitest';
import type { Table } from '../../../lib/protocol/ports.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { newJob } from '../../support/jobs.ts';
import { memoryStore } from '../../support/memory-store.ts';

const json = (bytes: number) => JSON.stringify('x'.repeat(bytes - 2));
const large = (jobId: string) => newJob(jobId, { payload: json(3_000) });
const dispatch = { notBefore: 0, leaseUntil: 60_000, dispatches: 1 };

const stage = (on: Partial<Table>) => memoryStore({ on });

describe('many claims', () => {
  it('fail one by one, each for its own reason', async () => {
    const [noData, noRow, noReply] = ['no data', 'no row', 'no reply'].map((reason) => new Error(reason));
    const memory = createMemoryTable();
    const { store } = stage({
      applyMany: async (many) =>
        Promise.all(
          many.map(async (write) => {
            if (write.jobId.startsWith('data#')) return { applied: 'failed', error: noData as Error };
            if (write.jobId === 'row') return { applied: 'failed', error: noRow as Error };
            return memory.apply(write);
          }),
        ),
      apply: () => Promise.reject(noReply),
    });
    const outcomes = await store.claimMany([
      { job: newJob('a'), owner: 'w/a' },
      { job: large('data'), owner: 'w/b' },
      { job: newJob('row'), owner: 'w/c' },
      { job: large('again'), owner: 'w/d', redelivered: true },
      { job: large('e'), owner: 'w/e' },
    ]);
    expect(outcomes).toMatchObject([
      { outcome: 'claimed' },
      { outcome: 'failed', error: noData },
      { outcome: 'failed', error: noRow },
      { outcome: 'failed', error: noReply },
      { outcome: 'claimed', job: { payload: json(3_000) } },
    ]);
  });
});

describe('a claim whose reply was lost', () => {
  it('is known by its owner also where it set the typeLimits of its type', async () => {
    const memory = createMemoryTable();
    const direct = stage({ apply: memory.apply });
    await direct.store.schedule(newJob('j1', { leaseMs: undefined }), dispatch);
    const { store } = stage({
      apply: async (write) => {
        await memory.apply(write);
        return memory.apply(write);
      },
    });
    const typeLimits = { leaseMs: 70_000, maxAttempts: 5, maxCrashes: 3 };
    expect(await store.claim({ job: { jobId: 'j1' }, owner: 'w/1', typeLimits })).toMatchObject({
      ...{ outcome: 'claimed', job: { leaseOwner: 'w/1', leaseMs: 70_000, attempt: 1 } },
    });
  });
});
