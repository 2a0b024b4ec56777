import { describe, expect, it } from 'vitest';
import { resolveSettings } from '../../../lib/settings/settings.ts';
import { type HealthSigns, healthOf } from '../../../lib/tools/inspect/health.ts';
import { healthStrip } from '../../../lib/tools/inspect/health-strip.ts';
import type { PoolSigns } from '../../../lib/tools/inspect/intake-health.ts';
import type { Parked } from '../../../lib/tools/inspect/parked.ts';

const NOW = 1_800_000_000_000;
const settings = resolveSettings({});
const count = (n: number, complete = true) => ({ count: n, complete });
const queue = (visible: number, inFlight = 0) => ({ visible, inFlight, delayed: 0 });

const well: HealthSigns = {
  at: NOW,
  running: count(3),
  pending: count(0),
  queue: queue(0, 3),
  reaper: { wakeAt: NOW + 20_000, ledAt: NOW - 4_000 },
  lastHour: { done: 900, failed: 0, crashed: 0, reclaimed: 0, throttled: 0 },
};
const of = (over: Partial<HealthSigns>) => healthOf({ ...well, ...over }, settings);
const codes = (over: Partial<HealthSigns>) => of(over).reasons.map(({ code }) => code);

describe('the verdict', () => {
  it('is healthy while messages are taken, sweeps are on time and jobs succeed', () => {
    expect(of({})).toStrictEqual({ state: 'healthy', message: 'healthy', reasons: [] });
  });

  it('is down when messages have waited a minute and no worker takes them', () => {
    const idle = { running: count(0), queue: queue(501) };
    expect(of({ ...idle, untakenMs: 60_000 })).toMatchObject({
      state: 'down',
      message: 'down because 501 messages wait, and no worker takes them',
    });
    expect(of({ ...idle, oldestMessageMs: 125_000 }).message).toBe(
      'down because 501 messages wait, the oldest for 2 min 5 s, and no worker takes them',
    );
  });

  it('is degraded after one look that cannot know for how long they have waited', () => {
    expect(of({ running: count(0), queue: queue(501) })).toMatchObject({
      state: 'degraded',
      reasons: [{ code: 'untaken', next: expect.stringContaining('leasehold work') }],
    });
  });

  it('gives workers ten seconds to take a message that was just sent', () => {
    const idle = { running: count(0), queue: queue(1) };
    expect(of({ ...idle, untakenMs: 9_999 }).state).toBe('healthy');
    expect(of({ ...idle, untakenMs: 10_000 }).state).toBe('degraded');
    expect(of({ ...idle, untakenMs: 59_999 }).state).toBe('degraded');
  });

  it.each([
    ['a late sweep', { reaper: { wakeAt: NOW - 5_001, ledAt: NOW - 30_000 } }, 'degraded', 'reaperLate'],
    ['a sweep that is not late yet', { reaper: { wakeAt: NOW - 5_000 } }, 'healthy', undefined],
    ['a silent reaper', { reaper: { wakeAt: NOW - 180_001 } }, 'down', 'reaperSilent'],
    ['no reaper', { reaper: undefined }, 'degraded', 'reaperAbsent'],
    ['a lease that should have been reclaimed', { soonestLeaseEnd: NOW - 600_000 }, 'down', 'leasesOverdue'],
    ['a hint that should have been repeated', { soonestHint: NOW - 600_000 }, 'down', 'hintsOverdue'],
    ['a lease that has just ended', { soonestLeaseEnd: NOW - 2_000 }, 'healthy', undefined],
    ['a tenth of failures', { lastHour: { done: 45, failed: 5 } }, 'degraded', 'failureRate'],
    ['fewer failures', { lastHour: { done: 46, failed: 5 } }, 'healthy', undefined],
    ['few jobs', { lastHour: { done: 0, failed: 4 } }, 'healthy', undefined],
    ['crashes', { lastHour: { done: 9, crashed: 3, reclaimed: 2 } }, 'degraded', 'lostWorkers'],
    ['throttling', { lastHour: { throttled: 1 } }, 'degraded', 'throttled'],
    ['refused invocations', { lastHour: { refusedInvocations: 2 } }, 'degraded', 'concurrency'],
    ['dead letters', { deadLetters: { visible: 2 } }, 'degraded', 'deadLetters'],
    ['paused workers', { workers: { busy: 1, all: 2, paused: 1 } }, 'degraded', 'paused'],
  ] as const)('of %s', (_what, over, state, code) => {
    const health = of(over);
    expect(health.state).toBe(state);
    expect(health.reasons[0]?.code).toBe(code);
    for (const { next } of health.reasons) expect(next).not.toBe('');
  });

  it('ranks down above degraded, and names only the worst', () => {
    const health = of({ lastHour: { throttled: 1 }, reaper: { wakeAt: NOW - 3_600_000 } });
    expect(health.reasons.map(({ state }) => state)).toEqual(['down', 'degraded']);
    expect(health.message).toBe('down because no reaper has swept for 1 h; one is started every 1 min');
  });
});

describe('pools', () => {
  const pool = (over: Partial<PoolSigns>): PoolSigns => ({
    ...{ name: 'render', queueUrl: 'https://sqs/1/Render', types: ['render'], running: count(0) },
    ...{ queue: queue(0) },
    ...over,
  });
  const idle = pool({ name: 'default', types: [], running: count(5) });
  const tasks = { max: 20, concurrency: 4 };

  it('are judged one by one: a working pool does not hide one without workers', () => {
    const stuck = pool({ queue: queue(7), untakenMs: 60_000 });
    expect(of({ queue: queue(0, 3), pools: [idle, stuck] }).message).toBe(
      "down because 7 messages wait in pool 'render', and no worker takes them",
    );
    expect(codes({ pools: [idle, pool({ queue: queue(7), running: count(1) })] })).toEqual([]);
  });

  it('of containers have six minutes to start, and then ECS is where to look', () => {
    const starting = pool({ tasks, queue: queue(7), oldestMessageMs: 359_999 });
    expect(codes({ pools: [idle, starting] })).toEqual([]);
    const { reasons } = of({ pools: [idle, { ...starting, oldestMessageMs: 360_000 }] });
    expect(reasons).toMatchObject([{ code: 'untaken', state: 'down', next: expect.stringContaining('ECS') }]);
  });

  it('name the bound of their containers when messages grow old', () => {
    const full = pool({ tasks, queue: queue(7), running: count(80), oldestMessageMs: 60_000 });
    expect(of({ pools: [idle, full] }).reasons).toMatchObject([
      { code: 'saturated', next: "raise the pool's max, which is 20 containers" },
    ]);
  });
});

describe('limits and pauses', () => {
  const none = { all: count(0), groups: [], paused: [], limits: [], hasLimits: false };
  const strip = (parked: Parked) => {
    const signs = { ...well, parked };
    return healthStrip(signs, healthOf(signs, settings)).find(({ name }) => name === 'parked');
  };

  it('parked jobs alone are no reason to worry', () => {
    const parked = { ...none, all: count(40, false), limits: [{ type: 'sync', limit: 1 }] };
    expect(of({ parked }).state).toBe('healthy');
    expect(strip(parked)).toMatchObject({ value: '40+', remark: '1 limit changed', tone: 'plain' });
  });

  it('a paused type is a reason, with the command that ends it', () => {
    const paused = ['a', 'b', 'c', 'd'].map((type) => ({ type, since: NOW - 7_200_000, waiting: count(3) }));
    const parked = { ...none, all: count(12), paused };
    expect(of({ parked: { ...parked, paused: paused.slice(0, 1) } })).toMatchObject({
      state: 'degraded',
      message: 'degraded because type a was paused 2 h ago; 3 of its jobs wait',
      reasons: [{ code: 'typePaused', next: "'leasehold resume a' lets them run" }],
    });
    expect(strip(parked)).toMatchObject({
      ...{ value: '12', tone: 'warn' },
      remark: 'a paused, b paused, 2 more types paused',
    });
  });
});
