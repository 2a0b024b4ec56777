import { describe, expect, it } from 'vitest';
import type { ClaimRequest, Table } from '../../../lib/protocol/ports.ts';
import { rowBytes } from '../../../lib/protocol/rows/row-bytes.ts';
import { createJobStore } from '../../../lib/protocol/store/job-store.ts';
import { rowAfter } from '../../../lib/protocol/writes/evaluate.ts';
import type { Row, RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import { createHandChance } from '../../../lib/testing/hand-chance.ts';
import { createHandClock } from '../../../lib/testing/hand-clock.ts';
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
  const clock = createHandClock();
  const store = createJobStore({ table, clock, chance: createHandChance(), settings, actor: 'w' });
  return { memory, clock, store, requests, writes };
}

/** The bytes that a payload may have for the row of its first write to be this large. */
const payloadFor = (write: RowWrite | undefined, rowSize: number) =>
  rowSize - (rowBytes(rowAfter(write as RowWrite, undefined)) - newJob('j1').payload.length);

describe('a payload', () => {
  it('stays on the row of its claim up to a thousand bytes', async () => {
    const sample = stage();
    await sample.store.claim({ job: newJob('j1'), owner: 'w/1' });
    const most = payloadFor(sample.writes[0], 1_000);
    const claimed = async (bytes: number) => {
      const { store, requests } = stage();
      await store.claim({ job: newJob('j1', { payload: json(bytes) }), owner: 'w/1' });
      await store.claimMany([{ job: newJob('j2', { payload: json(bytes) }), owner: 'w/1' }]);
      return requests;
    };
    expect(await claimed(most)).toEqual(['claim', '0 at once', '1 at once']);
    expect(await claimed(most + 1)).toEqual(['putData', 'claim', '1 at once', '1 at once']);
  });

  it('stays on the row of a job for later up to a thousand bytes', async () => {
    const sample = stage();
    await sample.store.schedule(newJob('j1'), dispatch);
    const most = payloadFor(sample.writes[0], 1_000);
    const scheduled = async (bytes: number) => {
      const { store, requests } = stage();
      await store.schedule(newJob('j1', { payload: json(bytes) }), dispatch, true);
      return requests;
    };
    expect(await scheduled(most)).toEqual(['schedule']);
    expect(await scheduled(most + 1)).toEqual(['read', 'putData', 'schedule']);
  });

  it('that a worker has just written beside the row is not read again', async () => {
    const { store, requests } = stage();
    const job = { payload: json(3_000) };
    expect(await store.claim({ job: large('j1'), owner: 'w/1' })).toMatchObject({ job });
    expect(await store.claimMany([{ job: large('j2'), owner: 'w/1' }])).toMatchObject([{ job }]);
    expect(requests).not.toContain('read');
  });

  it('of a message that was not received before is written without a look', async () => {
    const { store, requests } = stage();
    await store.schedule(large('j1'), dispatch);
    await store.claim({ job: large('j2'), owner: 'w/1', again: false });
    expect(requests).toEqual(['putData', 'schedule', 'putData', 'claim']);
  });

  it('is known as one by the key of its row, whoever wrote it', async () => {
    const { memory, store } = stage();
    await store.schedule(large('j1'), dispatch);
    await store.claim({ job: large('j2'), owner: 'w/1' });
    await store.claimMany([{ job: large('j3'), owner: 'w/1' }]);
    const keys = memory.rows().map(({ jobId }) => String(jobId).replace(/u\d+$/, 'u'));
    expect(keys).toEqual(['j1#pu', 'j1', 'j2#pu', 'j2', 'j3#pu', 'j3']);
  });
});

describe('many claims', () => {
  it('are granted in the order given, those with data of their own among the others', async () => {
    const { memory, store, requests } = stage();
    const requested: ClaimRequest[] = [
      { job: large('a'), owner: 'w/a' },
      { job: newJob('b'), owner: 'w/b' },
      { job: large('c'), owner: 'w/c', again: true },
      { job: { jobId: 'd' }, owner: 'w/d' },
      { job: large('e'), owner: 'w/e' },
    ];
    expect(await store.claimMany(requested)).toMatchObject([
      { outcome: 'claimed', job: { jobId: 'a', leaseOwner: 'w/a', payload: json(3_000) } },
      { outcome: 'claimed', job: { jobId: 'b', leaseOwner: 'w/b' } },
      { outcome: 'claimed', job: { jobId: 'c', leaseOwner: 'w/c' } },
      { outcome: 'absent' },
      { outcome: 'claimed', job: { jobId: 'e', leaseOwner: 'w/e', payload: json(3_000) } },
    ]);
    // One by one only what came before, whose row may point to its data already.
    expect([...requests].sort()).toEqual(['2 at once', '4 at once', 'claim', 'claim', 'putData']);
    expect(memory.rows().filter(({ jobId }) => String(jobId).includes('#'))).toHaveLength(3);
  });

  it('write no data for a job that has it already', async () => {
    const { store, requests } = stage();
    await store.schedule(large('a'), dispatch);
    requests.length = 0;
    expect(await store.claimMany([{ job: large('a'), owner: 'w/a', again: true }])).toMatchObject([
      { outcome: 'claimed', job: { payload: json(3_000) } },
    ]);
    expect(requests).not.toContain('putData');
  });

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
      { job: large('again'), owner: 'w/d', again: true },
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
  it('is known by its owner, and gets the payload that it wrote', async () => {
    const memory = createMemoryTable();
    const twice = async (write: RowWrite) => {
      await memory.apply(write);
      return memory.apply(write);
    };
    const on = { apply: twice, applyMany: (many: readonly RowWrite[]) => Promise.all(many.map(twice)) };
    const { store, requests } = stage(on);
    const claimed = { outcome: 'claimed', job: { payload: json(3_000), leaseOwner: 'w/1' } };
    expect(await store.claim({ job: large('j1'), owner: 'w/1' })).toMatchObject(claimed);
    expect(await store.claimMany([{ job: large('j2'), owner: 'w/1' }])).toMatchObject([claimed]);
    expect(requests).not.toContain('read');
  });

  it('is known by its owner also where it set the terms of its type', async () => {
    const memory = createMemoryTable();
    const direct = stage({ apply: memory.apply });
    await direct.store.schedule({ ...newJob('j1'), defaultTerms: ['leaseMs'] }, dispatch);
    const { store } = stage({
      apply: async (write) => {
        await memory.apply(write);
        return memory.apply(write);
      },
    });
    const termsOf = () => ({ leaseMs: 70_000, maxAttempts: 5, maxCrashes: 3 });
    expect(await store.claim({ job: { jobId: 'j1' }, owner: 'w/1', termsOf })).toMatchObject({
      ...{ outcome: 'claimed', job: { leaseOwner: 'w/1', leaseMs: 70_000, attempt: 1 } },
    });
  });
});

describe('terms that a row has from the settings alone', () => {
  const terms = { leaseMs: 70_000, maxAttempts: 2, maxCrashes: 4 };
  type Names = NonNullable<ReturnType<typeof newJob>['defaultTerms']>;
  const claimed = async (defaultTerms: Names, termsOf?: ClaimRequest['termsOf'], over = {}) => {
    const { memory, store } = stage();
    const own = { leaseMs: 1_000, maxAttempts: 9, maxCrashes: 8, ...over };
    await store.schedule({ ...newJob('j1', own), defaultTerms }, dispatch);
    const outcome = await store.claim({ job: { jobId: 'j1' }, owner: 'w/1', termsOf });
    const { leaseMs, maxAttempts, maxCrashes } = (await memory.read('j1')) as Row;
    return { outcome: outcome.outcome, leaseMs, maxAttempts, maxCrashes };
  };
  const outcome = 'claimed';

  it('become those of its type, each that is named', async () => {
    const ofType = () => terms;
    // No more crashes than attempts.
    expect(await claimed(['leaseMs', 'maxAttempts', 'maxCrashes'], ofType)).toEqual({
      ...{ outcome, leaseMs: 70_000, maxAttempts: 2, maxCrashes: 2 },
    });
    expect(await claimed(['maxCrashes'], ofType)).toEqual({
      ...{ outcome, leaseMs: 1_000, maxAttempts: 9, maxCrashes: 4 },
    });
    expect(await claimed(['maxCrashes'], ofType, { maxAttempts: 3 })).toEqual({
      ...{ outcome, leaseMs: 1_000, maxAttempts: 3, maxCrashes: 3 },
    });
    expect(await claimed(['leaseMs'], ofType)).toEqual({
      ...{ outcome, leaseMs: 70_000, maxAttempts: 9, maxCrashes: 8 },
    });
  });

  it.each([
    ['does not know types', undefined],
    ['does not know this type', () => undefined],
  ])('become those of the settings where the worker %s', async (_, termsOf) => {
    const { leaseMs, maxAttempts, maxCrashes } = settings;
    expect(await claimed(['leaseMs', 'maxAttempts', 'maxCrashes'], termsOf)).toEqual({
      ...{ outcome, leaseMs, maxAttempts, maxCrashes },
    });
  });

  it('are asked for by the row’s type, and not where the job cannot be had', async () => {
    const asked: string[] = [];
    const termsOf = (type: string) => {
      asked.push(type);
      return terms;
    };
    const { store } = stage();
    const later = { ...dispatch, notBefore: 9e12 };
    await store.schedule({ ...newJob('j1'), defaultTerms: ['leaseMs'] }, later);
    expect(await store.claim({ job: { jobId: 'j1' }, owner: 'w/1', termsOf })).toMatchObject({
      ...{ outcome: 'notYet' },
    });
    expect(asked).toEqual([]);
    await store.schedule({ ...newJob('j2'), defaultTerms: ['leaseMs'] }, dispatch);
    await store.claim({ job: { jobId: 'j2' }, owner: 'w/1', termsOf });
    expect(asked).toEqual(['report']);
  });
});
