import { describe, expect, it } from 'vitest';
import { entryOf, nextSteps, recoveredBy } from '../../../lib/inspect/next-steps.ts';
import { timelineOf } from '../../../lib/inspect/timeline.ts';
import { parseJob, parseLeaseEntry } from '../../../lib/protocol/rows/parse-row.ts';
import { resolveSettings } from '../../../lib/settings/settings.ts';
import { settings } from '../../support/jobs.ts';
import { row } from '../../support/rows.ts';

const claim = (attempt: number, outcome: string, from = attempt * 1_000) => ({
  attempt,
  owner: `w/${attempt}`,
  from,
  to: from + 500,
  outcome,
});
const told = (over: Record<string, unknown>) =>
  timelineOf(parseJob(row({ createdAt: 100, ...over })), 0, settings);
const running = { status: 'running', startedAt: 60_000, heartbeatAt: 61_000, leaseUntil: 100_000 };

describe('the story of a job', () => {
  it('is told with every moment and every count', () => {
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
      { at: 100, what: 'created', says: "first seen as a 'report' job" },
      { at: 1_000, what: 'claimed', attempt: 1, says: 'claimed by w/1' },
      {
        at: 1_500,
        what: 'reclaimed',
        attempt: 1,
        says: 'its lease lapsed; the reaper took the job back',
      },
      { at: 1_500, what: 'fenced', attempt: 1, says: 'w/1 is fenced: whatever it still writes is refused' },
      { at: 2_000, what: 'claimed', attempt: 2, says: 'claimed by w/2' },
      {
        at: 2_500,
        what: 'ended',
        attempt: 2,
        says: 'the job was released (deadline, shutdown or operator)',
      },
      { at: 3_000, what: 'claimed', attempt: 3, says: 'claimed by w/3' },
      {
        at: 3_500,
        what: 'ended',
        attempt: 3,
        says: 'its handler threw; the job will run again',
      },
      { at: 60_000, what: 'claimed', attempt: 4, says: 'claimed by w/1' },
      { at: 70_000, what: 'heartbeat', attempt: 4, says: 'last heartbeat of w/1' },
    ]);
    expect(facts).toEqual([
      'claimed 4 times; since it was last revived or created, 1 ended by errors, 1 by crashes, 1 by release',
      'fails for good at 5 errors and crashes together, or 3 crashes',
      'checkpoint 2 is stored: the next attempt goes on from there',
      'progress: {"done":5}',
      'an operator asked for its cancellation',
      'last changed by w/c1',
    ]);
  });

  it('has few facts where little happened', () => {
    expect(told({ status: 'done', cancelRequested: true, claim01: claim(1, 'done') }).facts).toEqual([
      'claimed once; since it was last revived or created, 0 ended by errors, 0 by crashes, 0 by release',
      'fails for good at 5 errors and crashes together, or 3 crashes',
      'last changed by w/c1',
    ]);
  });

  it('names the attempts of which nothing is known', () => {
    expect(told({ attempt: 2, claim01: claim(1, 'retried') }).facts.slice(2)).toEqual([
      'attempt 2 left no entry: its claim was released before its worker learned of it',
      'last changed by w/c1',
    ]);
    const ring = Object.fromEntries(
      Array.from({ length: 20 }, (_, i) => [
        `claim${String((i + 2) % 20).padStart(2, '0')}`,
        claim(i + 2, 'lapsed'),
      ]),
    );
    expect(told({ attempt: 21, ...ring }).facts.slice(2)).toEqual([
      'attempts 1 to 1 are older than the row remembers',
      'last changed by w/c1',
    ]);
  });

  it('is in order of time where clocks disagreed', () => {
    const { events } = told({
      attempt: 2,
      claim01: claim(1, 'retried', 900),
      claim02: claim(2, 'retried', 50),
    });
    expect(events.map(({ at }) => at)).toEqual([50, 100, 550, 900, 1_400]);
  });

  it('takes the later of what the row and its lease say of the last beat', () => {
    const beats = (over: Record<string, unknown>) => told({ ...running, ...over }).events.at(-1)?.at;
    expect(beats({ heartbeatAt: 75_000 })).toBe(75_000);
    expect(beats({ heartbeatAt: 65_000 })).toBe(70_000);
  });

  it('gives a cause where one is known', () => {
    const last = (over: Record<string, unknown>) => told(over).events.at(-1)?.says;
    const retried = { claim01: claim(1, 'retried') };
    expect(last({ ...retried, lastError: 'boom' })).toBe('its handler threw: boom; the job will run again');
    expect(last(retried)).toBe('its handler threw; the job will run again');
    expect(last({ status: 'failed', lastError: 'boom' })).toBe('failed: boom');
    expect(last({ status: 'failed' })).toBe('failed');
    expect(last({ status: 'done', lastError: 'boom' })).toBe('done');
  });
});

describe('what happens next, word for word', () => {
  const always = resolveSettings({ watch: 'always', watchMs: 120_000 });
  const next = (over: Record<string, unknown>, now: number) => nextSteps(parseJob(row(over)), now, always);
  const removed = { at: 2_000_000_000_000, says: 'DynamoDB removes the row some time after' };
  const dead = {
    at: 103_000,
    says: 'if the worker is dead, the reaper has acted by then: given to the next worker (crash 1 of 3)',
  };

  it('to a finished job', () => {
    const revive = { says: "nothing, until an operator runs 'leasehold revive j1'" };
    expect(next({ status: 'done' }, 0)).toEqual([{ says: 'nothing: it is done' }, removed]);
    expect(next({ status: 'failed' }, 0)).toEqual([revive, removed]);
    expect(next({ status: 'cancelled' }, 0)).toEqual([revive, removed]);
  });

  it('to a running job, to the tick', () => {
    const ends = { at: 100_000, says: 'its lease ends, unless the worker’s heart beats before' };
    const ended = { at: 102_000, says: 'its lease has ended; the reaper may take it back' };
    expect(next(running, 99_999)).toEqual([ends, dead]);
    expect(next(running, 100_000)).toEqual([ended, dead]);
    expect(next(running, 102_999)).toEqual([ended, dead]);
    expect(next(running, 103_000)).toEqual([
      {
        at: 103_000,
        says: "OVERDUE: the reaper should have taken it back by then. Run 'leasehold doctor', or 'leasehold reap' to sweep now",
      },
    ]);
  });

  it('to a pending job, to the tick', () => {
    const due = { at: 50, says: 'it becomes due' };
    const claims = {
      says: 'a worker claims it as soon as it takes its hint from the queue (sent 1 times)',
    };
    const hints = { at: 100_000, says: 'if no worker has claimed it, the reaper sends another hint' };
    expect(next({ notBefore: 50 }, 49)).toEqual([due, claims, hints]);
    expect(next({ notBefore: 50 }, 50)).toEqual([claims, hints]);
    expect(next({}, 101_000)).toEqual([claims, hints]);
    expect(next({}, 101_001)).toEqual([
      claims,
      {
        at: 100_000,
        says: "OVERDUE: the reaper should have sent another hint. Run 'leasehold doctor', or 'leasehold reap' to sweep now",
      },
    ]);
  });

  it('to a running job is known by the last beat, where the reaper may have gone home since', () => {
    const job = parseJob(row(running));
    if (job.status !== 'running') throw new Error('it does not run');
    expect(recoveredBy(job, settings)).toBe(70_000 + 120_500);
  });

  // As a claim leaves the row: no longer due, and no longer with the queue.
  it.each([{}, { leaseOwner: undefined }, { ...running, notBefore: undefined, dispatches: undefined }])(
    'is decided from the very entry that the index holds: %o',
    (over) => {
      const job = parseJob(row(over));
      if (job.status !== 'pending' && job.status !== 'running') throw new Error('it is finished');
      // A pending row keeps the start of its last claim, which no verdict on it asks for.
      const { startedAt, ...held } = parseLeaseEntry(row(over));
      expect(entryOf(job)).toStrictEqual(job.status === 'running' ? { ...held, startedAt } : held);
    },
  );
});
