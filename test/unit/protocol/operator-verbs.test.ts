import { describe, expect, it } from 'vitest';
import { createJobStore } from '../../../lib/protocol/store/job-store.ts';
import type { RowWrite } from '../../../lib/protocol/writes/row-write.ts';
import { createHandChance } from '../../../lib/testing/hand-chance.ts';
import { createHandClock } from '../../../lib/testing/hand-clock.ts';
import { createMemoryTable } from '../../../lib/testing/memory-table.ts';
import { settings } from '../../support/jobs.ts';
import { row } from '../../support/rows.ts';

const DAY = 86_400_000;

function stage(over: Readonly<Record<string, unknown>>, data: Readonly<Record<string, string>> = {}) {
  const memory = createMemoryTable();
  const clock = createHandClock();
  memory.put(row(over));
  for (const [key, text] of Object.entries(data)) memory.put({ jobId: `j1#${key}`, data: text });
  const writes: RowWrite[] = [];
  const reads: string[] = [];
  const store = createJobStore({
    table: {
      ...memory,
      apply: (write) => {
        writes.push(write);
        return memory.apply(write);
      },
      read: (key) => {
        reads.push(key);
        return memory.read(key);
      },
    },
    ...{ clock, chance: createHandChance(), settings, actor: 'me' },
  });
  /** When data that lives so many days beyond the retention expires. */
  const until = (days: number) => Math.ceil((clock.now() + settings.rowRetentionMs + days * DAY) / 1000);
  return { memory, clock, store, writes, reads, until };
}

/** What each verb does with a job in each status. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  cancel: ['pending', 'running'],
  revive: ['failed', 'cancelled'],
  takeBack: ['running'],
};
const cases = (['cancel', 'revive', 'takeBack'] as const).flatMap((verb) =>
  ['pending', 'running', 'done', 'failed', 'cancelled'].map(
    (status) => [verb, status, allowed[verb]?.includes(status) ? 'written' : 'refused'] as const,
  ),
);

describe('an operator', () => {
  it.each(cases)('who wants to %s a job that is %s finds it %s', async (verb, status, outcome) => {
    const { store, writes } = stage({ status });
    expect(await store[verb]('j1')).toMatchObject({ outcome, job: { jobId: 'j1' } });
    expect(writes).toHaveLength(outcome === 'written' ? 1 : 0);
  });

  it('cannot revive a message that could not be run', async () => {
    const { store } = stage({ status: 'failed', rawText: '{', rawBytes: 1, rawSha256: 'ab' });
    expect(await store.revive('j1')).toMatchObject({ outcome: 'refused' });
  });

  it('reaches no job that has expired', async () => {
    const { store, clock, writes } = stage({ status: 'failed', expiresAt: 1_800_000_001 });
    await clock.advance(1_000);
    expect(await store.revive('j1')).toEqual({ outcome: 'absent' });
    expect(writes).toEqual([]);
  });

  it('ends a pending job, whose row is kept to the end of the second', async () => {
    const { store, clock } = stage({});
    await clock.advance(1);
    const retention = settings.rowRetentionMs / 1000;
    expect(await store.cancel('j1')).toMatchObject({ job: { expiresAt: 1_800_000_001 + retention } });
  });
});

describe('the data of a job that is revived', () => {
  const pointer = (place: string, until: number) => ({ in: place, parts: 1, bytes: 3, until });
  const failed = { status: 'failed', attempt: 3, notBefore: undefined };

  it('is copied where it could expire, and stays where it could not', async () => {
    const { until } = stage({});
    const texts = {
      ...{ payload: pointer('p1', until(14)), checkpoint: pointer('c1', until(16)) },
      ...{ progress: pointer('g1', until(1)) },
    };
    const { memory, store, writes } = stage({ ...failed, ...texts }, { p1: '"p"', c1: '"c"', g1: '"g"' });
    expect(await store.revive('j1')).toMatchObject({ outcome: 'written' });
    expect(writes.map(({ transition }) => transition)).toEqual(['putData', 'putData', 'revive']);
    expect(writes.slice(0, 2)).toMatchObject([
      { jobId: expect.stringMatching(/^j1#p3\.u\d+$/), set: { data: '"p"', expiresAt: until(30) } },
      { jobId: expect.stringMatching(/^j1#g3\.u\d+$/), set: { data: '"g"' } },
    ]);
    expect(await memory.read('j1')).toMatchObject({
      payload: { in: expect.stringMatching(/^p3\.u/) },
      checkpoint: texts.checkpoint,
    });
    expect(await store.read('j1')).toMatchObject({ payload: '"p"', checkpoint: 'c', progress: 'g' });
  });

  it('lives from when the job is to run', async () => {
    const { until } = stage({});
    const old = { ...failed, notBefore: 1_800_000_000_000 + 100 * DAY, payload: pointer('p1', 9) };
    const later = stage(old, { p1: '"p"' });
    await later.store.revive('j1');
    expect(later.writes[0]).toMatchObject({ set: { expiresAt: until(130) } });
    const now = stage(old, { p1: '"p"' });
    await now.store.revive('j1', { now: true });
    expect(now.writes[0]).toMatchObject({ set: { expiresAt: until(30) } });
  });

  it('stays gone where it is: the next claim tells', async () => {
    const gone = pointer('p1', 9);
    const { memory, store, writes } = stage({ ...failed, payload: gone });
    expect(await store.revive('j1')).toMatchObject({ outcome: 'written' });
    expect(writes.map(({ transition }) => transition)).toEqual(['revive']);
    expect(await memory.read('j1')).toMatchObject({ payload: gone });
  });

  it('is not read where all of it lives long enough', async () => {
    const { store, writes, reads } = stage({ ...failed, payload: pointer('p1', 9e9) });
    expect(await store.revive('j1')).toMatchObject({ outcome: 'written' });
    expect([writes.length, reads]).toEqual([1, ['j1']]);
  });
});
