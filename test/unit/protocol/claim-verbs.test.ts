import { describe, expect, it } from 'vitest';
import type { ClaimRequest, Table } from '../../../lib/protocol/ports.ts';
import { createJobStore } from '../../../lib/protocol/store/job-store.ts';
import type { Row, RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import type { NewJob } from '../../../lib/protocol/writes/worker-writes.ts';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';
import { createFakeRandom } from '../../../lib/testing/fake-random.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { newJob, settings } from '../../support/jobs.ts';

const json = (bytes: number) => JSON.stringify('x'.repeat(bytes - 2));
const large = (jobId: string) => newJob(jobId, { payload: json(3_000) });
const dispatch = { notBefore: 0, leaseUntil: 60_000, dispatches: 1 };

function stage(on: Partial<Table> = {}) {
  const memory = createMemoryTable();
  const requests: string[] = [];
  const writes: RowWrite[] = [];
  const table: Table = {
    ...memory,
    apply: (write) => {
      requests.push(write.transition);
      writes.push(write);
      return (on.apply ?? memory.apply)(write);
    },
    applyMany: (many) => {
      requests.push(`${many.length} at once`);
      writes.push(...many);
      return (on.applyMany ?? memory.applyMany)(many);
    },
    read: (jobId) => {
      requests.push('read');
      return memory.read(jobId);
    },
  };
  const clock = createFakeClock();
  const store = createJobStore({ table, clock, random: createFakeRandom(), settings, actor: 'w' });
  return { memory, clock, store, requests, writes };
}

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

describe('limits that a row lacks', () => {
  const typeLimits = { leaseMs: 70_000, maxAttempts: 2, maxCrashes: 1 };
  const unset = { leaseMs: undefined, maxAttempts: undefined, maxCrashes: undefined };
  const claimed = async (own: Partial<NewJob>, request: Partial<ClaimRequest> = {}) => {
    const { memory, store } = stage();
    await store.schedule(newJob('j1', { ...unset, ...own }), dispatch);
    const outcome = await store.claim({ job: { jobId: 'j1' }, owner: 'w/1', typeLimits, ...request });
    const { leaseMs, maxAttempts, maxCrashes, leaseUntil, startedAt } = (await memory.read('j1')) as Row;
    expect([outcome.outcome, Number(leaseUntil) - Number(startedAt)]).toEqual(['claimed', leaseMs]);
    return { leaseMs, maxAttempts, maxCrashes };
  };

  it('are those of the settings where the claim brings none', async () => {
    const { leaseMs, maxAttempts, maxCrashes } = settings;
    expect(await claimed({}, { typeLimits: undefined })).toEqual({ leaseMs, maxAttempts, maxCrashes });
  });
});
