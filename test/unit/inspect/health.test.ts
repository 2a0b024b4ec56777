import { describe, expect, it } from 'vitest';
import { resolveSettings } from '../../../lib/settings/settings.ts';
import { type HealthSigns, healthOf } from '../../../lib/tools/inspect/health.ts';
import { healthStrip } from '../../../lib/tools/inspect/health-strip.ts';

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
    expect(of({})).toStrictEqual({ state: 'healthy', says: 'healthy', reasons: [] });
  });

  it('is down when messages have waited a minute and no worker takes them', () => {
    const idle = { running: count(0), queue: queue(501) };
    expect(of({ ...idle, untakenMs: 60_000 })).toMatchObject({
      state: 'down',
      says: 'down because 501 messages wait, and no worker takes them',
    });
    expect(of({ ...idle, oldestMessageMs: 125_000 }).says).toBe(
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

  it('names saturation when every worker is busy and messages grow old', () => {
    const full = { queue: queue(40, 10), workers: { busy: 10, all: 10 }, oldestMessageMs: 60_000 };
    expect(of(full).says).toBe(
      'degraded because 40 messages wait, the oldest for 1 min, and all 10 workers are busy',
    );
    expect(codes({ ...full, oldestMessageMs: 59_999 })).toEqual([]);
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

  it('says that the reaper is switched off, and nothing about its lateness', () => {
    const off = healthOf({ ...well, reaper: undefined }, { ...settings, reaperEnabled: false });
    expect(off.reasons.map(({ code }) => code)).toEqual(['reaperOff']);
  });

  it('puts what is down before what is degraded, and names only the worst', () => {
    const health = of({ lastHour: { throttled: 1 }, reaper: { wakeAt: NOW - 3_600_000 } });
    expect(health.reasons.map(({ state }) => state)).toEqual(['down', 'degraded']);
    expect(health.says).toBe('down because no reaper has swept for 1 h; one is started every 1 min');
  });
});

describe('the strip', () => {
  const strip = (over: Partial<HealthSigns>) => {
    const signs = { ...well, ...over };
    return new Map(healthStrip(signs, healthOf(signs, settings)).map((item) => [item.name, item]));
  };

  it('has a value for each question, in the same order', () => {
    expect([...strip({}).values()].map(({ label, value }) => `${label}: ${value}`)).toEqual([
      'waiting: 0',
      'running: 3',
      'workers busy: –',
      'last sweep: 4 s ago',
      'failed: 0',
      'crashed, reclaimed: 0, 0',
      'throttled: 0',
    ]);
  });

  it('colors the figure that a reason is about', () => {
    const items = strip({ running: count(0), queue: queue(501), untakenMs: 60_000 });
    expect(items.get('waiting')).toMatchObject({ value: '501', tone: 'bad' });
    expect(items.get('failed')?.tone).toBe('plain');
  });

  it('shows a dash and the reason where nothing is known, never a zero', () => {
    const items = strip({ queue: undefined, pending: undefined, lastHour: undefined, running: undefined });
    for (const name of ['waiting', 'running', 'failed', 'lost', 'throttled'] as const)
      expect(items.get(name)).toMatchObject({ value: '–', tone: 'unknown' });
  });

  it('tells how late the next sweep is', () => {
    const items = strip({ reaper: { ledAt: NOW - 40_000, wakeAt: NOW - 12_000 } });
    expect(items.get('sweep')).toMatchObject({
      value: '40 s ago',
      remark: 'next is 12 s late',
      tone: 'warn',
    });
  });
});
