import { describe, expect, it } from 'vitest';
import { backoffMs } from '../../../lib/protocol/decisions/backoff.ts';
import { decideClaim } from '../../../lib/protocol/decisions/decide-claim.ts';
import { decideFailure, decideRelease } from '../../../lib/protocol/decisions/decide-failure.ts';
import { decideReap, lapsesAt } from '../../../lib/protocol/decisions/decide-reap.ts';
import { planDispatch, planRedispatch } from '../../../lib/protocol/decisions/dispatch.ts';
import { LEASE_EXPIRED } from '../../../lib/protocol/job.ts';
import { parseJob } from '../../../lib/protocol/rows/parse-row.ts';
import { MAX_HINT_DELAY_MS } from '../../../lib/wire/queues.ts';
import { leaseEntry, settings } from '../../support/jobs.ts';
import { row } from '../../support/rows.ts';

const now = 200_000;
const unspent = { attempt: 1, errors: 0, crashes: 0, lapses: 0, releases: 0 };

describe('the retry policy', () => {
  const backoff = { baseMs: 2_000, capMs: 900_000 };

  it.each([
    [1, 2_000],
    [2, 4_000],
    [9, 512_000],
    [10, 900_000],
    [5_000, 900_000],
  ])('waits up to a ceiling that doubles, then stays: error %i, %i ms', (errors, ceiling) => {
    expect(backoffMs(errors, backoff, 0)).toBe(0);
    expect(backoffMs(errors, backoff, 0.5)).toBe(Math.floor((ceiling + 1) / 2));
    expect(backoffMs(errors, backoff, 1 - Number.EPSILON)).toBe(ceiling);
  });
});

describe('a dispatch', () => {
  it('of a job that is due sends a hint now, and leases the job to the queue', () => {
    expect(planDispatch(now, now - 5, settings)).toEqual({
      notBefore: now,
      leaseUntil: now + 60_000,
      dispatches: 1,
      hintDelaySeconds: 0,
    });
  });

  it.each([
    [1, 1],
    [1_000, 1],
    [1_001, 2],
    [MAX_HINT_DELAY_MS, 900],
  ])('%i ms ahead rounds the delay up to %i s', (ahead, seconds) => {
    expect(planDispatch(now, now + ahead, settings)).toEqual({
      notBefore: now + ahead,
      leaseUntil: now + ahead + 60_000,
      dispatches: 1,
      hintDelaySeconds: seconds,
    });
  });

  it('beyond the longest delay of SQS is left to the reaper, three minutes before it is due', () => {
    const due = now + MAX_HINT_DELAY_MS + 1;
    const far = { notBefore: due, leaseUntil: due - 180_000, dispatches: 0 };
    expect(planDispatch(now, due, settings)).toEqual(far);
    expect(planRedispatch(now, far, settings)).toEqual(far);
  });

  it.each([
    [0, 60_000],
    [1, 120_000],
    [7, 7_680_000],
    [8, 14_400_000],
    [2_000, 14_400_000],
  ])('that is repeated after %i hints leases the job to the queue for %i ms', (dispatches, lease) => {
    expect(planRedispatch(now, { notBefore: 5, dispatches }, settings)).toEqual({
      notBefore: 5,
      leaseUntil: now + lease,
      dispatches: dispatches + 1,
      hintDelaySeconds: 0,
    });
  });
});

it('a refused claim is too early until one tick before the skew reaches the due time', () => {
  const outcome = (notBefore: number) =>
    decideClaim(parseJob(row({ notBefore })), { owner: 'me/1', now, skewMs: 2_000 }).outcome;
  expect([2_001, 2_000].map((ahead) => outcome(now + ahead))).toEqual(['notYet', 'contended']);
});

describe('a failed attempt', () => {
  const budgets = { ...unspent, maxAttempts: 3, maxCrashes: 3 };
  const context = {
    now,
    random: 0.5,
    retryable: true,
    backoff: { baseMs: 2_000, capMs: 900_000 },
    settings,
  };

  it('is retried after a wait while attempts are left', () => {
    expect(decideFailure({ ...budgets, errors: 1 }, context)).toEqual({
      kind: 'retry',
      errors: 2,
      dispatch: planDispatch(now, now + 2_000, settings),
    });
  });

  it('fails for good when errors and crashes together have spent the attempts', () => {
    expect(decideFailure({ ...budgets, errors: 1, crashes: 1 }, context)).toEqual({
      kind: 'fail',
      errors: 2,
    });
    expect(decideFailure({ ...budgets, errors: 2 }, context)).toEqual({ kind: 'fail', errors: 3 });
  });

  it('fails for good at once when running again cannot help', () => {
    expect(decideFailure(budgets, { ...context, retryable: false })).toEqual({ kind: 'fail', errors: 1 });
  });
});

describe('a hand-back', () => {
  const budgets = { ...unspent, releases: 4, maxAttempts: 2, maxCrashes: 2 };
  const context = { now, reason: 'deadline', progressed: true, settings } as const;
  const dispatch = planDispatch(now, now, settings);

  it('at the deadline is free when the handler got further', () => {
    expect(decideRelease(budgets, context)).toEqual({ kind: 'release', errors: 0, releases: 5, dispatch });
  });

  it('at shutdown is free in any case', () => {
    expect(decideRelease(budgets, { ...context, reason: 'shutdown', progressed: false })).toEqual({
      kind: 'release',
      errors: 0,
      releases: 5,
      dispatch,
    });
  });

  it('at the deadline is charged as an error when the handler got nowhere', () => {
    expect(decideRelease(budgets, { ...context, progressed: false })).toEqual({
      kind: 'release',
      errors: 1,
      releases: 4,
      lastError: 'ran out of invocation time without storing a new checkpoint',
      dispatch,
    });
  });

  it('that is charged fails the job when it spends the last attempt', () => {
    expect(decideRelease({ ...budgets, errors: 1 }, { ...context, progressed: false })).toEqual({
      kind: 'fail',
      errors: 2,
      lastError: 'ran out of invocation time without storing a new checkpoint',
    });
    expect(decideRelease({ ...budgets, crashes: 1 }, { ...context, progressed: false }).kind).toBe('fail');
  });

  it('fails the job once it has been released too often', () => {
    const few = { ...settings, maxReleases: 5 };
    expect(decideRelease(budgets, { ...context, settings: few }).kind).toBe('release');
    expect(decideRelease({ ...budgets, releases: 5 }, { ...context, settings: few })).toEqual({
      kind: 'fail',
      errors: 0,
      lastError: "released 6 times without finishing; make each run do more, or raise 'maxReleases'",
    });
  });
});

describe('the reaper’s verdict', () => {
  const skewed = { ...settings, skewMs: 2_500 };
  const at = (moment: number, over: Parameters<typeof leaseEntry>[0] = {}) =>
    decideReap(leaseEntry({ leaseUntil: 100_000, ...over }), { now: moment, random: 0.5, settings: skewed });

  it('on a worker’s lease waits for the skew, to the tick', () => {
    expect(lapsesAt({ status: 'running', leaseUntil: 100_000 }, skewed)).toBe(102_500);
    expect(at(102_499)).toEqual({ kind: 'leave', lapsesAt: 102_500 });
    expect(at(102_500).kind).toBe('reclaim');
    expect(at(102_501).kind).toBe('reclaim');
  });

  it('on the queue’s lease does not', () => {
    expect(at(99_999, { status: 'pending' })).toEqual({ kind: 'leave', lapsesAt: 100_000 });
    expect(at(100_000, { status: 'pending', notBefore: 7, dispatches: 1 })).toEqual({
      kind: 'redispatch',
      dispatch: { notBefore: 7, leaseUntil: 220_000, dispatches: 2, hintDelaySeconds: 0 },
    });
  });

  it('counts a first lapse and gives the job to the next worker at once', () => {
    expect(at(now, { errors: 1, crashes: 1, releases: 3 })).toEqual({
      kind: 'reclaim',
      lapses: 1,
      lastError: LEASE_EXPIRED,
      dispatch: planDispatch(now, now, skewed),
    });
  });

  it('lets the job wait from its second lapse on', () => {
    expect(at(now, { lapses: 1 })).toMatchObject({
      kind: 'reclaim',
      lapses: 2,
      dispatch: planDispatch(now, now + 15_000, skewed),
    });
  });

  it.each([
    [0, 0],
    [1, 30_000],
    [2, 60_000],
    [5, 480_000],
    [6, 900_000],
    [60, 900_000],
  ])('waits a random part of a time that doubles, then stays: %i lapses before, %i ms', (before, longest) => {
    const waits = (random: number) => {
      const many = { ...skewed, maxLapses: 100 };
      const entry = leaseEntry({ lapses: before, maxAttempts: 100 });
      const verdict = decideReap(entry, { now, random, settings: many });
      return verdict.kind === 'reclaim' ? verdict.dispatch.notBefore - now : undefined;
    };
    expect([waits(0), waits(0.5), waits(1 - Number.EPSILON)]).toEqual([
      0,
      longest / 2,
      Math.max(0, longest - 1),
    ]);
  });

  it('quarantines a job whose hosts were lost too often', () => {
    expect(at(now, { lapses: 4 })).toEqual({ kind: 'quarantine', lapses: 5, lastError: LEASE_EXPIRED });
    expect(at(now, { lapses: 3 }).kind).toBe('reclaim');
  });

  it('runs a job no more often after lapses than after errors', () => {
    expect(at(now, { maxAttempts: 1 }).kind).toBe('quarantine');
    expect(at(now, { maxAttempts: 3, lapses: 1 }).kind).toBe('reclaim');
    expect(at(now, { maxAttempts: 3, lapses: 2 }).kind).toBe('quarantine');
  });

  it('counts lapses apart from errors and crashes', () => {
    expect(at(now, { errors: 4, crashes: 2 })).toMatchObject({ kind: 'reclaim', lapses: 1 });
  });

  it('ends a job that an operator wants ended, whatever it was', () => {
    expect(at(now, { cancelRequested: true })).toEqual({ kind: 'cancel' });
    expect(at(now, { cancelRequested: true, status: 'pending' })).toEqual({ kind: 'cancel' });
    expect(at(102_499, { cancelRequested: true }).kind).toBe('leave');
  });
});
