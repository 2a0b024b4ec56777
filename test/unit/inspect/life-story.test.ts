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
    expect(events).toStrictEqual([
      { at: 100, kind: 'created', message: "first seen, with type 'report'" },
      { at: 1_000, kind: 'claimed', attempt: 1, by: 'w/1', message: 'claimed by w/1' },
      {
        at: 1_500,
        kind: 'reclaimed',
        attempt: 1,
        ranAgainMs: 500,
        message: 'its lease lapsed; the reaper reclaimed the job',
      },
      {
        at: 1_500,
        kind: 'fenced',
        attempt: 1,
        by: 'w/1',
        message: 'fenced: later writes of w/1 are refused',
      },
      { at: 2_000, kind: 'claimed', attempt: 2, by: 'w/2', message: 'claimed by w/2' },
      {
        at: 2_500,
        kind: 'released',
        attempt: 2,
        message: 'released by its worker (deadline or shutdown)',
      },
      { at: 3_000, kind: 'claimed', attempt: 3, by: 'w/3', message: 'claimed by w/3' },
      {
        at: 3_500,
        kind: 'retried',
        attempt: 3,
        message: 'its handler threw; the job will be retried',
      },
      { at: 60_000, kind: 'claimed', attempt: 4, by: 'w/1', message: 'claimed by w/1' },
      { at: 70_000, kind: 'heartbeat', attempt: 4, by: 'w/1', message: 'last heartbeat of w/1' },
    ]);
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

describe('what happens next, word for word', () => {
  const usual = resolveSettings();
  const next = (over: Record<string, unknown>, now: number) => nextSteps(parseJob(row(over)), now, usual);
  const removed = {
    what: 'removal',
    at: 2_000_000_000_000,
    message: 'DynamoDB removes the row some time later',
  };
  const dead = {
    what: 'recovered',
    at: 222_500,
    message: 'if the worker is dead, the reaper has acted by then: given to the next worker (lapse 1 of 5)',
  };

  it('to a finished job', () => {
    const revive = { what: 'nothing', message: "nothing, until an operator runs 'leasehold revive j1'" };
    expect(next({ status: 'done' }, 0)).toEqual([
      { what: 'nothing', message: 'nothing: it is done' },
      removed,
    ]);
    expect(next({ status: 'failed' }, 0)).toEqual([
      {
        what: 'nothing',
        message: "nothing until you act. Fix what the error names; then run 'leasehold revive j1'",
      },
      removed,
    ]);
    expect(next({ status: 'cancelled' }, 0)).toEqual([revive, removed]);
    expect(next({ status: 'done', crashes: 2 }, 0)[0]?.message).toBe(
      'nothing: it is done, although it crashed 2 times',
    );
  });

  it('to a running job, to the tick', () => {
    const ends = {
      what: 'leaseEnd',
      at: 100_000,
      message: 'its lease ends, unless a heartbeat renews it before then',
    };
    const ended = {
      what: 'reclaimable',
      at: 102_000,
      message: 'its lease has ended; the reaper may reclaim it',
    };
    expect(next(running, 99_999)).toEqual([ends, dead]);
    expect(next({ ...running, cancelRequested: true }, 99_999)[0]?.message).toContain(
      'sees the cancellation in the reply to its next heartbeat',
    );
    expect(next(running, 100_000)).toEqual([ended, dead]);
    expect(next(running, 222_499)).toEqual([ended, dead]);
    expect(next(running, 222_500)).toEqual([
      {
        what: 'overdue',
        at: 222_500,
        message:
          "OVERDUE: the reaper should have reclaimed it by then. Run 'leasehold doctor', or 'leasehold doctor --sweep' to sweep now",
      },
    ]);
  });

  it('to a pending job, to the tick', () => {
    const due = { what: 'due', at: 50, message: 'it becomes due' };
    const claims = {
      what: 'claim',
      message: 'a worker claims it as soon as it receives its hint from the queue (sent once)',
    };
    const hints = {
      what: 'nextHint',
      at: 100_000,
      message: 'if no worker has claimed it, the reaper sends another hint',
    };
    expect(next({ notBefore: 50 }, 49)).toEqual([due, claims, hints]);
    expect(next({ notBefore: 50 }, 50)).toEqual([claims, hints]);
    expect(next({}, 220_500)).toEqual([claims, hints]);
    expect(next({}, 220_501)).toEqual([
      claims,
      {
        what: 'overdue',
        at: 100_000,
        message:
          "OVERDUE: the reaper should have sent another hint. Run 'leasehold doctor', or 'leasehold doctor --sweep' to sweep now",
      },
    ]);
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
