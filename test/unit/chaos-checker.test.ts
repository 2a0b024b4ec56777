import { describe, expect, it } from 'vitest';
import { resolveSettings } from '../../lib/settings/settings.ts';
import { checkEvidence } from '../chaos/check-evidence.ts';
import type { Evidence } from '../chaos/evidence.ts';
import { explainedCrashes } from '../chaos/explained-crashes.ts';
import type { JournalLine } from '../support/journal.ts';
import { row } from '../support/rows.ts';

const settings = resolveSettings();
const unleased = { leaseUntil: undefined, notBefore: undefined, dispatches: undefined };
const past = (attempt: number, outcome: string) => ({
  [`claim0${attempt}`]: {
    attempt,
    owner: `w/${attempt}`,
    from: attempt * 1000,
    to: attempt * 1000 + 500,
    outcome,
  },
});

/** A job that crashed once and was done at its second attempt. */
const done = (over: Readonly<Record<string, unknown>> = {}) =>
  row({
    ...unleased,
    ...{ status: 'done', attempt: 2, crashes: 1, result: '{"attempt":2}' },
    ...past(1, 'lapsed'),
    ...past(2, 'done'),
    ...over,
  });

const line = (attempt: number, event: JournalLine['event'], at: number, step?: number): JournalLine => ({
  ...{ jobId: 'j1', pid: 100 + attempt, attempt, event, at },
  step,
});

const journal = [
  line(1, 'start', 1000, 0),
  line(1, 'effect', 1100, 0),
  line(1, 'stored', 1110, 1),
  line(2, 'start', 5000, 1),
  line(2, 'end', 5100),
];

const sound: Evidence = {
  settings,
  accepted: ['j1'],
  cancelled: new Map(),
  takenBack: new Map(),
  rows: [done()],
  index: [],
  journal,
  events: [{ at: 0, what: 'chaos begins' }],
  pauses: [],
  overdue: [],
};

const promises = (over: Partial<Evidence>) =>
  checkEvidence({ ...sound, ...over }).map(({ promise }) => promise);

describe('the checker of a chaos run', () => {
  it('finds nothing wrong with a job that was recovered', () => {
    expect(promises({})).toEqual([]);
  });

  it.each<[string, Partial<Evidence>, RegExp]>([
    ['a lost job', { rows: [] }, /has a row/],
    ['a job left behind', { rows: [done({ status: 'running', leaseUntil: 1 })] }, /a job ends/],
    ['a second completion', { rows: [done(past(1, 'done'))] }, /completes once/],
    ['the result of a stale attempt', { rows: [done({ result: '{"attempt":1}' })] }, /the last attempt's/],
    [
      'a failure with budget left',
      { rows: [done({ status: 'failed', failedAt: 1, ...past(2, 'failed') })] },
      /budget is spent/,
    ],
    [
      'a cancellation that nobody asked for',
      { rows: [done({ status: 'cancelled', ...past(2, 'cancelled') })] },
      /only on request/,
    ],
    ['a claim charged twice', { rows: [done({ errors: 1, crashes: 2 })] }, /charged once/],
    ['a claim that ran twice', { journal: [...journal, line(2, 'start', 6000, 1)] }, /runs once/],
    ['a run after the end', { journal: [...journal, line(3, 'start', 6000, 1)] }, /does not run again/],
    ['two handlers at work', { journal: [...journal, line(1, 'effect', 9000, 1)] }, /never work at once/],
    [
      'a lost checkpoint',
      { journal: journal.map((each) => (each.at === 5000 ? { ...each, step: 0 } : each)) },
      /checkpoint is never lost/,
    ],
    ['an index entry too many', { rows: [done({ leaseUntil: 5 })] }, /index and table agree/],
    ['a lease that nobody took back', { overdue: ['j1'] }, /within the bound/],
  ])('finds %s', (_, over, promise) => {
    expect(promises(over)).toContainEqual(expect.stringMatching(promise));
  });

  it('excuses a handler that could not know: stopped, unreachable, or taken back by an operator', () => {
    const late = [...journal, line(1, 'effect', 9000, 1)];
    expect(promises({ journal: late, pauses: [{ pid: 101, from: 2000, to: 8900 }] })).toEqual([]);
    expect(promises({ journal: [...late, line(1, 'abort', 4000)] })).toEqual([]);
    expect(promises({ journal: late, takenBack: new Map([['j1', [1500]]]) })).toEqual([]);
  });
});

describe('a crash of a harmless job', () => {
  const claim = (attempt: number, outcome: 'lapsed' | 'crashed', pid: number) => ({
    ...{ attempt, outcome, owner: `vm-${pid}-name/own`, from: 0, to: 1 },
  });
  const started = (jobId: string, pid: number): JournalLine => ({
    ...{ jobId, pid, attempt: 1, event: 'start', at: 0 },
  });
  const events = [
    { at: 0, what: 'host killed', pid: 1 },
    { at: 0, what: 'cell killed', pid: 20 },
    { at: 0, what: 'cell killed', pid: 21 },
  ];
  const explained = explainedCrashes({
    events,
    journal: [started('a', 20), started('a', 20), started('b', 21), started('c', 21), started('d', 22)],
  });

  it('is explained by the kill of a cell that no other job was in, and of no other', () => {
    const crashed = [claim(1, 'crashed', 1)];
    expect(['a', 'b', 'c', 'd'].map((jobId) => explained({ jobId, claims: crashed }))).toEqual([1, 0, 0, 0]);
  });
});
