import { describe, expect, it } from 'vitest';
import type { Claim, FoundRow } from '../../../lib/protocol/job.ts';
import { createDataRenewal } from '../../../lib/protocol/store/renew-data.ts';
import { createStoreParts } from '../../../lib/protocol/store/store-parts.ts';
import type { Row } from '../../../lib/protocol/writes/row-write.ts';
import { createHandChance } from '../../../lib/testing/hand-chance.ts';
import { createHandClock } from '../../../lib/testing/hand-clock.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { settings } from '../../support/jobs.ts';
import { row } from '../../support/rows.ts';

const HOUR = 3_600_000;
const WEEK = 7.5 * 24 * HOUR;
const START = 1_800_000_000_000;
const claim: Claim = { jobId: 'j1', owner: 'w/1', attempt: 1, startedAt: START };
const expiring = { in: 'p1', parts: 1, bytes: 3, until: 9 };
const found: FoundRow = {
  ...{ bytes: 500, checkpointBytes: 0, progressBytes: 0, crashes: 0, releases: 0, excuses: 0 },
  expiresSoon: false,
};

/** Beats of a claim; each look at its data is one read of its row. */
function stage(stored: Row | undefined, onRead: () => void = () => {}) {
  const memory = createMemoryTable();
  if (stored !== undefined) memory.put(stored);
  memory.put({ jobId: 'j1#p1', data: '"p"' });
  const clock = createHandClock(START);
  let looks = 0;
  const parts = createStoreParts({
    table: {
      ...memory,
      read: async (key) => {
        if (key === 'j1') looks += 1;
        onRead();
        return memory.read(key);
      },
    },
    ...{ clock, chance: createHandChance(), settings, actor: 'w' },
  });
  const renewal = createDataRenewal(parts);
  /** How often the data has been looked at after a beat so much later. */
  const beat = async (later = 0, by = claim) => {
    await clock.advance(later);
    renewal(by);
    await clock.advance(0);
    return looks;
  };
  const payload = async () => (await memory.read('j1'))?.payload;
  return { memory, clock, beat, payload };
}

describe('the data of a claim that runs for long', () => {
  it('is looked at every seven and a half days', async () => {
    const { beat } = stage(row({ status: 'running' }));
    expect([await beat(), await beat(WEEK - 1), await beat(1)]).toEqual([0, 0, 1]);
    expect([await beat(), await beat(WEEK - 1), await beat(1)]).toEqual([1, 1, 2]);
  });

  it('is copied where it could expire', async () => {
    const { beat, payload } = stage(row({ status: 'running', payload: expiring }));
    expect(await beat(WEEK)).toBe(1);
    expect(await payload()).toMatchObject({ in: expect.stringMatching(/^p1\.u\d+$/) });
    expect([await beat(WEEK - 1), await beat(1)]).toEqual([1, 2]);
  });

  it('is looked at with the first beat where the claim could not renew it', async () => {
    const { beat, payload } = stage(row({ status: 'running', payload: expiring }));
    expect(await beat(0, { ...claim, found })).toBe(0);
    const unsure = { ...claim, found: { ...found, expiresSoon: true } };
    expect([await beat(0, unsure), await beat(0, unsure)]).toEqual([1, 1]);
    expect(await payload()).not.toEqual(expiring);
  });

  it('is looked at again an hour after its row could not be read', async () => {
    let isBroken = true;
    const { beat } = stage(row({ status: 'running' }), () => {
      if (isBroken) throw new Error('no reply');
    });
    expect([await beat(WEEK), await beat(HOUR - 1)]).toEqual([1, 1]);
    isBroken = false;
    expect([await beat(1), await beat(WEEK - 1), await beat(1)]).toEqual([2, 2, 3]);
  });

  it('is looked at again an hour after it could not be renewed', async () => {
    const { memory, beat } = stage(row({ status: 'running', payload: { ...expiring, in: 'gone' } }));
    expect([await beat(WEEK), await beat(HOUR - 1), await beat(1)]).toEqual([1, 1, 2]);
    memory.put(row({ status: 'running' }));
    expect([await beat(HOUR), await beat(WEEK - 1), await beat(1)]).toEqual([3, 3, 4]);
  });

  it.each([
    ['is gone', undefined],
    ['is another claim’s', row({ status: 'running', leaseOwner: 'w/2', payload: expiring })],
    ['runs no more', row({ payload: expiring })],
  ])('is left alone where the row %s', async (_, stored) => {
    const { beat, payload } = stage(stored);
    expect([await beat(WEEK), await beat(WEEK - 1), await beat(1)]).toEqual([1, 1, 2]);
    expect(await payload()).toEqual(stored?.payload);
  });
});
