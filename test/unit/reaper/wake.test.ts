import { describe, expect, it } from 'vitest';
import type { SweepResult } from '../../../lib/reaper/sweep.ts';
import { partOf, planWake, wakeDelaySeconds } from '../../../lib/reaper/wake.ts';

/** Half the skew and half the lease of the defaults. */
const settings = {
  ...{ leaseMs: 15_000, minLeaseMs: 10_000, skewMs: 1000 },
  minSweepIntervalMs: 400,
};
const NOW = 1_000_000;

const swept = (given: Partial<SweepResult> & { readonly overCap?: number } = {}): SweepResult => ({
  ...{ scanned: 0, reclaimed: 0, failed: 0, quarantined: 0, redispatched: 0, cancelled: 0 },
  ...{ hintsSent: 0, hintsFailed: 0, errors: 0, complete: true, inTrouble: false },
  ...{ durationMs: 0, oldestLapsedMs: 0, mayHoldParked: false },
  skipped: {
    ...{ moved: 0, bad: 0, newer: 0, unwritten: 0, stopped: 0 },
    overCap: given.overCap ?? 0,
  },
  ...given,
});

describe('a tick', () => {
  const wake = 'a message';
  it.each([
    ['no message is named', { wakeAt: NOW }, true],
    ['nobody says when it is due', { wake }, true],
    ['its message is due now', { wake, wakeAt: NOW }, false],
    ['it is as far away as it can be', { wake, wakeAt: NOW + 11_000 + 5000 }, false],
    ['it is further away than that', { wake, wakeAt: NOW + 11_000 + 5001 }, true],
    ['it is late by what is allowed', { wake, wakeAt: NOW - 5000 }, false],
    ['it is later than that', { wake, wakeAt: NOW - 5001 }, true],
  ])('where %s sees to the next reaper: %#', (_, row, arms) => {
    const promised = { wake: undefined, wakeAt: undefined, holder: 'r', ...row };
    expect(partOf(promised, { kind: 'tick' }, NOW, settings)).toBe(arms ? 'keeps' : 'helps');
  });
});

describe('a message', () => {
  const row = { wake: 'a message', wakeAt: NOW + 9000, holder: 'r' };
  it('starts a sweep where the row names it, and nothing else', () => {
    const part = (...tokens: string[]) => partOf(row, { kind: 'wake', tokens }, NOW, settings);
    expect([part('other', 'a message'), part('other'), part()]).toEqual(['keeps', 'waits', 'waits']);
  });
});

describe('the next sweep', () => {
  const plan = (result: SweepResult, now = NOW + 100) => planWake(result, { begunAt: NOW, now }, settings);

  it('begins as a claim could lapse that this one did not see', () => {
    expect(plan(swept())).toBe(NOW + 11_000);
  });
  it('begins as the soonest lease lapses that it saw', () => {
    expect(plan(swept({ nextLapseAt: NOW + 6000 }))).toBe(NOW + 6000);
  });
  it('begins neither in the past nor too soon after the last', () => {
    expect(plan(swept({ nextLapseAt: NOW + 200 }))).toBe(NOW + 400);
    expect(plan(swept({ nextLapseAt: NOW + 200 }), NOW + 700)).toBe(NOW + 700);
  });
  it('begins at once where this one was stopped before its end', () => {
    expect(plan(swept({ complete: false, nextLapseAt: NOW + 6000 }))).toBe(NOW + 400);
    expect(plan(swept({ complete: false }), NOW + 700)).toBe(NOW + 700);
  });
  it('waits a while after trouble in which nothing could be moved', () => {
    expect(plan(swept({ complete: false, inTrouble: true }))).toBe(NOW + 100 + 5000);
    const slow = { ...settings, minSweepIntervalMs: 9000 };
    const result = swept({ complete: false, inTrouble: true });
    expect(planWake(result, { begunAt: NOW, now: NOW }, slow)).toBe(NOW + 9000);
  });
});

it.each([
  [-1, 0],
  [0, 0],
  [1, 1],
  [1000, 1],
  [1001, 2],
  [900_000, 900],
  [900_001, 900],
])('a message that is due in %i ms is delayed by %i s: late rather than early', (inMs, seconds) => {
  expect(wakeDelaySeconds(NOW + inMs, NOW)).toBe(seconds);
});
