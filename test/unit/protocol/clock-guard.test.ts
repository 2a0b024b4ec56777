import { describe, expect, it } from 'vitest';
import { createClockGuard } from '../../../lib/protocol/clock-guard.ts';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';

describe('the clock guard', () => {
  const date = 'Sun, 31 Jan 2027 09:00:00 GMT';
  const server = Date.parse(date);
  const hand = createFakeClock(server);
  const guard = () => createClockGuard({ skewMs: 2_000, clock: hand });
  const reply = (ahead: number, trip = 100, moment = 0) => ({
    tookMs: trip,
    receivedAt: server + 500 + ahead + trip / 2,
    date: new Date(server + moment).toUTCString(),
  });

  it('is sound before it knows anything', () => {
    expect(guard().isSound()).toBe(true);
    expect(guard().offset()).toBeUndefined();
  });

  it('measures from the middle of the round trip to the middle of the second', () => {
    const clock = guard();
    clock.observe(reply(250));
    expect(clock.offset()).toEqual({ offsetMs: 250, uncertaintyMs: 550, measuredAt: server + 800 });
  });

  it.each([1, -1])('trips one tick beyond what skew and uncertainty excuse (direction %i)', (sign) => {
    const clock = guard();
    clock.observe(reply(sign * 1_550));
    expect(clock.isSound()).toBe(true);
    const other = guard();
    other.observe(reply(sign * 1_551));
    expect(other.isSound()).toBe(false);
  });

  it('recovers with the first reply that contradicts what it knew', () => {
    const clock = guard();
    clock.observe(reply(60_000));
    expect(clock.isSound()).toBe(false);
    clock.observe(reply(0, 300));
    expect(clock.isSound()).toBe(true);
    clock.observe(reply(-60_000, 300));
    expect(clock.isSound()).toBe(false);
  });

  it('keeps the more certain of two replies that agree, until it is old', () => {
    const clock = guard();
    clock.observe(reply(100, 20));
    clock.observe(reply(300, 1_000));
    expect(clock.offset()?.offsetMs).toBe(100);
    clock.observe(reply(200, 20));
    expect(clock.offset()?.offsetMs).toBe(200);
    const later = { ...reply(300, 1_000, 40_000) };
    clock.observe({ ...later, receivedAt: later.receivedAt + 40_000 });
    expect(clock.offset()?.offsetMs).toBe(300);
  });

  it('ignores a date that is none', () => {
    const clock = guard();
    clock.observe({ tookMs: 1, receivedAt: 2, date: 'yesterday' });
    expect(clock.offset()).toBeUndefined();
  });

  it.each([3_600_000, -3_600_000, 501])(
    'trusts no clock that stepped by %i ms before the next reply',
    (stepMs) => {
      const clock = guard();
      clock.observe(reply(0));
      hand.set(hand.now() + stepMs);
      expect([clock.isSound(), clock.offset()]).toEqual([false, undefined]);
      // The clock was wrong before: it is right now.
      clock.observe(reply(0, 1_000));
      expect([clock.isSound(), clock.offset()?.uncertaintyMs]).toEqual([true, 1_000]);
    },
  );

  it('takes time that passes on both clocks, and small corrections, for no step', async () => {
    const clock = guard();
    clock.observe(reply(0));
    await hand.advance(86_400_000);
    hand.set(hand.now() - 500);
    expect(clock.isSound()).toBe(true);
  });
});
