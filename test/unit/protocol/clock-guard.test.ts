import { describe, expect, it } from 'vitest';
import { createClockGuard } from '../../../lib/protocol/clock-guard.ts';

describe('the clock guard', () => {
  const date = 'Sun, 31 Jan 2027 09:00:00 GMT';
  const server = Date.parse(date);
  const guard = () => createClockGuard({ skewMs: 2_000 });
  const reply = (ahead: number, trip = 100, moment = 0) => ({
    sentAt: server + 500 + ahead - trip / 2,
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
    clock.observe({ ...later, sentAt: later.sentAt + 40_000, receivedAt: later.receivedAt + 40_000 });
    expect(clock.offset()?.offsetMs).toBe(300);
  });

  it('ignores a date that is none, and a reply that came before it was asked for', () => {
    const clock = guard();
    clock.observe({ sentAt: 1, receivedAt: 2, date: 'yesterday' });
    expect(clock.offset()).toBeUndefined();
    clock.observe({ sentAt: server + 500, receivedAt: server, date });
    expect(clock.offset()).toMatchObject({ offsetMs: 0, uncertaintyMs: 500 });
  });
});
