import { describe, expect, it } from 'vitest';
import type { JobStore } from '../../../lib/protocol/ports.ts';
import type { Row } from '../../../lib/protocol/writes/row-write.ts';
import { leaseEntry, newJob } from '../../support/jobs.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { row } from '../../support/rows.ts';

const dispatch = { notBefore: 0, leaseUntil: 60_000, dispatches: 1 };
const refusing = (refusal: Row | undefined): JobStore =>
  memoryStore({
    on: {
      read: async () => refusal,
      apply: async () => ({ applied: false, row: refusal }),
      applyMany: async (writes) => writes.map(() => ({ applied: false, row: refusal })),
    },
  }).store;

describe('a row that refuses proves nothing', () => {
  const claim = { jobId: 'j1', owner: 'w/1', attempt: 1, startedAt: 60_000 };
  const held = { status: 'running', leaseUntil: 130_000, checkpointSeq: 7 };

  it.each([
    ['whose lease ends sooner', { leaseUntil: 129_999 }],
    ['whose lease ends at no time', { leaseUntil: '130001' }],
  ])('to a heartbeat %s', async (_, over) => {
    expect(await refusing(row(held)).heartbeat(claim, 130_000)).toEqual({
      outcome: 'extended',
      cancelRequested: false,
    });
    expect(await refusing(row({ ...held, ...over })).heartbeat(claim, 130_000)).toMatchObject({
      outcome: 'lost',
    });
  });

  it.each([
    ['with an older checkpoint', { checkpointSeq: 6 }],
    ['whose checkpoint has no number', { checkpointSeq: '8' }],
  ])('to a checkpoint %s', async (_, over) => {
    expect(await refusing(row(held)).checkpoint(claim, { seq: 7 })).toEqual({ outcome: 'written' });
    expect(await refusing(row({ ...held, ...over })).checkpoint(claim, { seq: 7 })).toMatchObject({
      outcome: 'lost',
    });
  });

  it.each([
    ['of another owner', { leaseOwner: 'w/3' }],
    ['of the claim that was to end', { leaseOwner: 'w/1', attempt: 1 }],
    ['of a later attempt', { attempt: 3 }],
    ['of a job that is running no more', { status: 'pending' }],
  ])('to a restart %s', async (_, over) => {
    const next = { owner: 'w/2', leaseMs: 1000, crashes: 1, releases: 0, lastError: 'crashed', diedAt: 5 };
    const mine = { ...held, leaseOwner: 'w/2', attempt: 2 };
    expect(await refusing(row(mine)).restart(claim, next)).toMatchObject({ outcome: 'restarted' });
    expect(await refusing(row({ ...mine, ...over })).restart(claim, next)).toMatchObject({ outcome: 'lost' });
  });

  it('to an operator, a reaper or a schedule that was changed by another', async () => {
    const store = refusing(row());
    expect(await store.cancel('j1')).toMatchObject({ outcome: 'refused' });
    expect(await store.reap(leaseEntry(), { kind: 'cancel' })).toEqual({ outcome: 'moved' });
    expect(await store.schedule(newJob('j1'), dispatch)).toMatchObject({
      outcome: 'exists',
      job: { jobId: 'j1' },
    });
  });

  it('when it has gone, and then there is no job to show', async () => {
    const store = refusing(undefined);
    expect(await store.schedule(newJob('j1'), dispatch)).toEqual({ outcome: 'exists' });
    expect(await store.heartbeat(claim, 5)).toStrictEqual({ outcome: 'lost' });
    expect(await store.reap(leaseEntry(), { kind: 'cancel' })).toStrictEqual({ outcome: 'moved' });
  });
});
