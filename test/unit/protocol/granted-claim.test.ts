import { describe, expect, it } from 'vitest';
import type { RunningJob } from '../../../lib/protocol/job.ts';
import type { Table } from '../../../lib/protocol/ports.ts';
import { attributeBytes, rowBytes } from '../../../lib/protocol/rows/row-bytes.ts';
import { grantedClaim } from '../../../lib/protocol/store/granted-claim.ts';
import { createStoreParts } from '../../../lib/protocol/store/store-parts.ts';
import type { Row, RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import { createHandChance } from '../../../lib/testing/hand-chance.ts';
import { createHandClock } from '../../../lib/testing/hand-clock.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { settings } from '../../support/jobs.ts';
import { row } from '../../support/rows.ts';

/** A row that was claimed just now, with its data where `data` says so. */
function stage(
  over: Readonly<Record<string, unknown>>,
  data: Readonly<Record<string, string>> = {},
  on: Partial<Table> = {},
) {
  const memory = createMemoryTable();
  const stored = row({ status: 'running', ...over });
  memory.put(stored);
  for (const [key, text] of Object.entries(data)) memory.put({ jobId: `j1#${key}`, data: text });
  const writes: RowWrite[] = [];
  const table: Table = {
    ...memory,
    apply: (write) => {
      writes.push(write);
      return (on.apply ?? memory.apply)(write);
    },
  };
  const clock = createHandClock();
  const parts = createStoreParts({ table, clock, chance: createHandChance(), settings, actor: 'w' });
  const granted = async (known?: ReadonlyMap<string, string>) => grantedClaim(parts, stored, known);
  const job = async () => {
    const outcome = await granted();
    if (outcome.outcome !== 'claimed') throw new Error(outcome.outcome);
    return outcome.job;
  };
  return { memory, clock, stored, writes, granted, job };
}

const LONG = 9e9;
const pointer = (place: string, until = LONG) => ({ in: place, parts: 1, bytes: 3, until });
const json = (bytes: number) => JSON.stringify('x'.repeat(bytes - 2));
const bytesWithout = (stored: Row) => {
  const { checkpoint: _, progress: __, ...rest } = stored;
  return rowBytes(rest);
};
const foundBy = ({ found }: RunningJob) => found;

describe('a granted claim', () => {
  it('tells what it found on a small row', async () => {
    const { job, stored, writes } = stage({
      ...{ checkpoint: '{"page":2}', progress: '0.5', crashes: 1, releases: 2, excuses: 3 },
    });
    expect(foundBy(await job())).toStrictEqual({
      bytes: bytesWithout(stored),
      checkpoint: '{"page":2}',
      checkpointBytes: 'checkpoint{"page":2}'.length,
      progressBytes: 'progress0.5'.length,
      ...{ crashes: 1, releases: 2, excuses: 3, expiresSoon: false },
    });
    expect(writes).toEqual([]);
  });

  it('tells that there was neither checkpoint, nor progress, nor excuse', async () => {
    const { job, stored } = stage({});
    expect(foundBy(await job())).toStrictEqual({
      ...{ bytes: rowBytes(stored), checkpoint: undefined, checkpointBytes: 0, progressBytes: 0 },
      ...{ crashes: 0, releases: 0, excuses: 0, expiresSoon: false },
    });
  });

  it('leaves a row of a thousand bytes alone, and tidies a larger one', async () => {
    const bare = rowBytes(row({ status: 'running', payload: '' }));
    const fits = stage({ payload: json(1_000 - bare) });
    await fits.job();
    expect(fits.writes).toEqual([]);
    const larger = stage({ payload: json(1_001 - bare) });
    const found = foundBy(await larger.job());
    expect(larger.writes.map(({ transition }) => transition)).toEqual(['putData', 'tidy']);
    // What there is room for is judged by the row as it is now.
    expect(found?.bytes).toBe(rowBytes((await larger.memory.read('j1')) ?? {}));
  });

  it('brings what is elsewhere along, and counts the pointers', async () => {
    const over = { payload: pointer('p1'), checkpoint: pointer('c1'), progress: pointer('g1') };
    const { job, stored, writes } = stage(over, { p1: '"p"', c1: '"c"', g1: '"g"' });
    const granted = await job();
    expect(granted).toMatchObject({ payload: '"p"', checkpoint: 'c', progress: 'g', elsewhere: [] });
    expect(granted.found).toStrictEqual({
      bytes: bytesWithout(stored),
      checkpoint: '"c"',
      checkpointBytes: attributeBytes('checkpoint', over.checkpoint),
      progressBytes: attributeBytes('progress', over.progress),
      ...{ crashes: 0, releases: 0, excuses: 0, expiresSoon: false },
    });
    expect(writes).toEqual([]);
  });

  it('needs not read what it knows', async () => {
    const { granted } = stage({ payload: pointer('p1') });
    expect(await granted(new Map([['p1', '"known"']]))).toMatchObject({
      ...{ outcome: 'claimed', job: { payload: '"known"' } },
    });
  });

  it('does without progress or an error that is gone', async () => {
    const { job } = stage({ progress: pointer('g1'), lastError: pointer('e1') });
    const granted = await job();
    expect(granted.elsewhere).toEqual(['progress', 'lastError']);
    expect(granted.found?.checkpoint).toBeUndefined();
  });

  it('tells whether its data could expire, and renews that', async () => {
    const { job } = stage({ payload: pointer('p1', 9) }, { p1: '"p"' });
    expect(foundBy(await job())?.expiresSoon).toBe(false);
    const failing = { apply: () => Promise.reject(new Error('no reply')) };
    const stuck = stage({ payload: pointer('p1', 9) }, { p1: '"p"' }, failing);
    expect(foundBy(await stuck.job())?.expiresSoon).toBe(true);
  });
});

describe('a granted claim without its data', () => {
  it.each([
    ['payload', { payload: pointer('p1') }],
    ['checkpoint', { checkpoint: pointer('c1') }],
    [
      'payload and checkpoint',
      { payload: pointer('p1'), checkpoint: pointer('c1'), progress: pointer('g1') },
    ],
  ])('fails the job for good: %s', async (names, over) => {
    const { memory, clock, granted } = stage({ ...over, errors: 2 });
    const message = expect.stringContaining(`the ${names} of job 'j1' is gone`);
    expect(await granted()).toMatchObject({
      outcome: 'withoutData',
      job: { jobId: 'j1', found: { crashes: 0, checkpoint: undefined } },
      error: { code: 'MISSING_DATA', message },
    });
    expect(await memory.read('j1')).toMatchObject({
      ...{ status: 'failed', errors: 2, finishedAt: clock.now() },
      lastError: expect.stringMatching(/^MissingDataError: the /),
      expiresAt: Math.ceil((clock.now() + settings.rowRetentionMs) / 1000),
    });
  });

  it('leaves the job alone that has moved on meanwhile', async () => {
    const on: Partial<Table> = { apply: async () => ({ applied: false, row: undefined }) };
    const { granted } = stage({ payload: pointer('p1') }, {}, on);
    expect(await granted()).toMatchObject({ outcome: 'held', job: { jobId: 'j1' } });
  });
});
