import { describe, expect, it } from 'vitest';
import type { SweepResult } from '../../../lib/reaper/sweep.ts';
import { isMissed, lookAgainAt, mustArm, planWake, wakeDelaySeconds } from '../../../lib/reaper/wake.ts';

/** Half the skew and half the lease of the defaults; time runs twice as fast, so that each limit is half as far away. */
const settings = {
  ...{ leaseMs: 15_000, minLeaseMs: 10_000, skewMs: 1000, graceMs: 500 },
  ...{ minSweepIntervalMs: 400, timeScale: 2 },
};
const NOW = 1_000_000;

const swept = (given: Partial<SweepResult> & { readonly heldBack?: number } = {}): SweepResult => ({
  ...{ scanned: 0, reclaimed: 0, failed: 0, quarantined: 0, redispatched: 0, cancelled: 0 },
  ...{ hintsSent: 0, hintsFailed: 0, errors: 0, complete: true, inTrouble: false, lookedAt: NOW },
  ...{ breakerOpen: false, durationMs: 0, oldestLapsedMs: 0 },
  skipped: {
    ...{ moved: 0, bad: 0, newer: 0, unwritten: 0, before: 0, stopped: 0 },
    heldBack: given.heldBack ?? 0,
  },
  ...given,
});

describe('a promised sweep', () => {
  it.each([
    ['was never promised', undefined, false],
    ['is promised for no time at all', 0, false],
    ['is late by exactly what is allowed', NOW - 2500, false],
    ['is later than that', NOW - 2501, true],
  ])('that %s counts as missed: %s, %s', (_, promisedAt, missed) => {
    expect(isMissed(promisedAt, NOW, settings)).toBe(missed);
  });
});

describe('a tick', () => {
  const wake = 'a message';
  it.each([
    ['no message is named', { wakeAt: NOW }, true],
    ['nobody says when it is due', { wake }, true],
    ['its message is due now', { wake, wakeAt: NOW }, false],
    ['it is as far away as it can be', { wake, wakeAt: NOW + 11_000 + 2500 }, false],
    ['it is further away than that', { wake, wakeAt: NOW + 11_000 + 2501 }, true],
    ['it is late by what is allowed', { wake, wakeAt: NOW - 2500 }, false],
    ['it is later than that', { wake, wakeAt: NOW - 2501 }, true],
  ])('where %s sees to the next reaper: %#', (_, row, arms) => {
    expect(mustArm({ wake: undefined, wakeAt: undefined, ...row }, { kind: 'tick' }, NOW, settings)).toBe(
      arms,
    );
  });

  it('is all that may leave the next reaper alone: one that was woken sees to it', () => {
    expect(mustArm({ wake, wakeAt: NOW }, { kind: 'wake', tokens: [wake] }, NOW, settings)).toBe(true);
  });
});

describe('the same invocation looks again', () => {
  const look = (result: SweepResult, now = NOW, lateUntil = Number.NEGATIVE_INFINITY) =>
    lookAgainAt(result, { begunAt: NOW, now, lateUntil }, settings);

  it('at rows that it held back, no sooner than sweeps may follow one another', () => {
    expect(look(swept({ heldBack: 1 }))).toBe(NOW + 400);
  });
  it('at a lapse that is near, and not at one a tick further away', () => {
    expect(look(swept({ nextLapseAt: NOW + 1000 }))).toBe(NOW + 1000);
    expect(look(swept({ nextLapseAt: NOW + 1001 }))).toBeUndefined();
    expect(look(swept({ nextLapseAt: NOW + 1100 }), NOW + 100)).toBe(NOW + 1100);
  });
  it('at what ended while the reaper was late, or until a worker could get through, though it lapses later', () => {
    const { skewMs, graceMs } = settings;
    const last = NOW + 3000 + skewMs + graceMs;
    expect(look(swept({ nextLapseAt: last }), NOW, NOW)).toBe(last);
    expect(look(swept({ nextLapseAt: last + 1 }), NOW, NOW)).toBeUndefined();
  });
  it('not sooner than sweeps may follow one another, though a lapse is nearer', () => {
    expect(look(swept({ nextLapseAt: NOW + 10 }))).toBe(NOW + 400);
  });
  it('not at all where nothing is leased', () => {
    expect(look(swept())).toBeUndefined();
  });
});

describe('the next sweep', () => {
  const plan = (result: SweepResult, now = NOW + 100) => planWake(result, { begunAt: NOW, now }, settings);

  it('begins as a claim could lapse that the last look did not see', () => {
    expect(plan(swept({ lookedAt: NOW + 50 }))).toBe(NOW + 50 + 11_000);
  });
  it('begins no later than the longest delay of a message', () => {
    const wide = { ...settings, minLeaseMs: 3_600_000 };
    expect(planWake(swept(), { begunAt: NOW, now: NOW }, wide)).toBe(NOW + 900_000);
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
  it('begins at once after trouble in which something was moved all the same', () => {
    expect(plan(swept({ complete: false, inTrouble: true, reclaimed: 1 }))).toBe(NOW + 400);
  });
  it('waits a while after trouble in which nothing could be moved', () => {
    expect(plan(swept({ complete: false, inTrouble: true }))).toBe(NOW + 100 + 2500);
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
