import { describe, expect, it } from 'vitest';
import { leaseEntryOf } from '../../../lib/protocol/job.ts';
import { parseJob, parseLeaseEntry } from '../../../lib/protocol/rows/parse-row.ts';
import { resolveSettings } from '../../../lib/settings/settings.ts';
import { factsOf, tellFacts } from '../../../lib/tools/inspect/facts.ts';
import { inOneLine } from '../../../lib/tools/inspect/moment.ts';
import { nextSteps } from '../../../lib/tools/inspect/next-steps.ts';
import { timelineOf } from '../../../lib/tools/inspect/timeline.ts';
import { row } from '../../support/rows.ts';

const claim = (attempt: number, outcome: string, from = attempt * 1_000) => ({
  attempt,
  owner: `w/${attempt}`,
  from,
  to: from + 500,
  outcome,
});
const told = (over: Record<string, unknown>) => {
  const job = parseJob(row({ createdAt: 100, ...over }));
  return { events: timelineOf(job), facts: tellFacts(factsOf(job), job.status) };
};
const running = { status: 'running', startedAt: 60_000, heartbeatAt: 61_000, leaseUntil: 100_000 };

describe('the story of a job', () => {
  it('has every moment and every count', () => {
    const { events, facts } = told({
      ...running,
      attempt: 4,
      errors: 1,
      crashes: 1,
      releases: 1,
      lastError: 'boom',
      checkpointSeq: 2,
      progress: '{"done":5}',
      cancelRequested: true,
      claim01: claim(1, 'lapsed'),
      claim02: claim(2, 'released'),
      claim03: claim(3, 'retried'),
    });
    expect(events.map(({ at, kind, attempt, by }) => `${at} ${kind} ${attempt ?? '-'} ${by ?? '-'}`)).toEqual(
      [
        '100 created - -',
        '1000 claimed 1 w/1',
        '1500 reclaimed 1 -',
        '1500 fenced 1 w/1',
        '2000 claimed 2 w/2',
        '2500 released 2 -',
        '3000 claimed 3 w/3',
        '3500 retried 3 -',
        '60000 claimed 4 w/1',
        '70000 heartbeat 4 w/1',
      ],
    );
    expect(events[2]).toMatchObject({ ranAgainMs: 500 });
    expect(facts).toEqual([
      'claimed 4 times; since it was created or last revived, 1 ended by errors, 1 by crashes, 0 by lost hosts, 1 released',
      "fails for good at 5 errors and crashes together, at 3 crashes, or when its host is lost too often ('maxLapses')",
      'checkpoint 2 is saved: the next attempt continues from there',
      'progress: {"done":5}',
      'an operator asked to cancel it',
      'last changed by w/c1',
    ]);
  });

  it('names the attempts of which nothing is known', () => {
    expect(told({ attempt: 2, claim01: claim(1, 'retried') }).facts.slice(2)).toEqual([
      'attempt 2 left no entry: its claim was released before its worker learned of it',
      'last changed by w/c1',
    ]);
    const ring = Object.fromEntries(
      Array.from({ length: 10 }, (_, i) => [
        `claim${String((i + 2) % 10).padStart(2, '0')}`,
        claim(i + 2, 'lapsed'),
      ]),
    );
    expect(told({ attempt: 11, ...ring }).facts.slice(2)).toEqual([
      'the row no longer lists attempts 1 to 1',
      'last changed by w/c1',
    ]);
  });
});

it('shows a crash in one line: its cause, and when the job ran again', () => {
  const crashed = { ...claim(1, 'crashed'), cause: 'crashed: out of memory (heap)' };
  const { events } = told({ ...running, attempt: 2, startedAt: 1_600, claim01: crashed });
  expect(events.map(inOneLine)).toContain('crashed: out of memory (heap); ran again after 100 ms');
});

describe('what happens next', () => {
  const next = (over: Record<string, unknown>, now: number) =>
    nextSteps(parseJob(row(over)), now, resolveSettings());

  it.each([
    ['done', 'nothing: it is done'],
    ['failed', "nothing until you act. Fix what the error names; then run 'leasehold revive j1'"],
    ['cancelled', "nothing, until an operator runs 'leasehold revive j1'"],
  ])('to a %s job is what an operator does, and its removal', (status, message) => {
    expect(next({ status }, 0)).toMatchObject([
      { what: 'nothing', message },
      { what: 'removal', at: 2_000_000_000_000 },
    ]);
  });

  it.each([
    [running, 99_999, 'leaseEnd 100000, recovered 222500'],
    [
      { ...running, cancelRequested: true },
      99_999,
      'cancelSeen undefined, leaseEnd 100000, recovered 222500',
    ],
    [running, 100_000, 'reclaimable 102000, recovered 222500'],
    [running, 222_499, 'reclaimable 102000, recovered 222500'],
    [running, 222_500, 'overdue 222500'],
    [{ notBefore: 50 }, 49, 'due 50, claim undefined, nextHint 100000'],
    [{ notBefore: 50 }, 50, 'claim undefined, nextHint 100000'],
    [{}, 220_500, 'claim undefined, nextHint 100000'],
    [{}, 220_501, 'claim undefined, overdue 100000'],
  ])('to an unfinished job is known to the tick: %o at %d', (over, now, steps) => {
    const shown = next(over, now).map(({ what, at }) => `${what} ${at}`);
    expect(shown.join(', ')).toBe(steps);
  });

  // As a claim leaves the row: no longer due, and no longer with the queue.
  it.each([{}, { leaseOwner: undefined }, { ...running, notBefore: undefined, dispatches: undefined }])(
    'is decided from the very entry that the index holds: %o',
    (over) => {
      const job = parseJob(row(over));
      if (job.status !== 'pending' && job.status !== 'running') throw new Error('it is finished');
      expect(leaseEntryOf(job)).toMatchObject(parseLeaseEntry(row(over)));
    },
  );
});
