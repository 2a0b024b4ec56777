import { describe, expect, it } from 'vitest';
import {
  expressionOf,
  type Schedule,
  tickBody,
  timetableOf,
} from '../../../lib/client/schedules/schedule.ts';
import { scheduleProblems } from '../../../lib/client/schedules/schedule-problems.ts';
import { defaultSettings } from '../../../lib/settings/settings.ts';

const ticks = (schedule: Partial<Schedule>, from: string, count = 3): string[] => {
  const timetable = timetableOf({ type: 'report', ...schedule });
  const found: number[] = [];
  for (let after: number | undefined = Date.parse(from); found.length < count; ) {
    after = timetable.next(after);
    if (after === undefined) break;
    found.push(after);
  }
  return found.map((at) => new Date(at).toISOString().slice(0, 16));
};
const cron = (text: string, from: string, timeZone?: string, count?: number) =>
  ticks({ cron: text, timeZone }, from, count);

describe('a cron expression', () => {
  it.each([
    ['0 3 * * ? *', '2027-01-30T03:00Z', ['2027-01-31T03:00', '2027-02-01T03:00', '2027-02-02T03:00']],
    ['0/20 * * * ? *', '2027-01-31T23:30Z', ['2027-01-31T23:40', '2027-02-01T00:00', '2027-02-01T00:20']],
    [
      '15,45 8-9 ? * MON-FRI *',
      '2027-01-29T09:30Z',
      ['2027-01-29T09:45', '2027-02-01T08:15', '2027-02-01T08:45'],
    ],
    ['0 0 L * ? *', '2027-01-01T00:00Z', ['2027-01-31T00:00', '2027-02-28T00:00', '2027-03-31T00:00']],
    ['0 9 1W * ? *', '2027-04-30T00:00Z', ['2027-05-03T09:00', '2027-06-01T09:00', '2027-07-01T09:00']],
    ['0 9 ? * 6L *', '2027-01-01T10:00Z', ['2027-01-29T09:00', '2027-02-26T09:00', '2027-03-26T09:00']],
    ['0 9 ? * TUE#2 *', '2027-01-01T10:00Z', ['2027-01-12T09:00', '2027-02-09T09:00', '2027-03-09T09:00']],
    ['0 0 29 2 ? *', '2027-01-01T00:00Z', ['2028-02-29T00:00', '2032-02-29T00:00', '2036-02-29T00:00']],
    [
      '0 0 1 1,JUL ? 2027-2028',
      '2027-06-01T00:00Z',
      ['2027-07-01T00:00', '2028-01-01T00:00', '2028-07-01T00:00'],
    ],
    ['0 0 1 1 ? 2026', '2027-01-01T00:00Z', []],
  ])('%s after %s comes at %j', (text, from, expected) => {
    expect(cron(text, from)).toEqual(expected);
  });

  it('is read in its time zone; a time that clocks skip has no tick, one that they show twice has one', () => {
    const berlin = (text: string, from: string) => cron(text, from, 'Europe/Berlin');
    expect(berlin('30 2 * * ? *', '2027-03-26T12:00Z')).toEqual([
      '2027-03-27T01:30',
      // On the 28th clocks go from 02:00 to 03:00.
      '2027-03-29T00:30',
      '2027-03-30T00:30',
    ]);
    expect(berlin('30 2 * * ? *', '2027-10-29T12:00Z')).toEqual([
      '2027-10-30T00:30',
      // On the 31st 02:30 comes twice: at 00:30 and at 01:30 UTC.
      '2027-10-31T00:30',
      '2027-11-01T01:30',
    ]);
    expect(cron('0 23 31 12 ? *', '2027-01-02T00:00Z', 'America/New_York', 1)).toEqual(['2028-01-01T04:00']);
    expect(cron('0 0 * * ? *', '2027-01-01T12:00Z', 'Asia/Kolkata', 1)).toEqual(['2027-01-01T18:30']);
  });
});

describe('what EventBridge Scheduler is given', () => {
  it('is its own expressions and a message with the place for the time of the tick', () => {
    expect(expressionOf({ type: 'a', cron: ' 0  3 * * ? * ' })).toBe('cron(0 3 * * ? *)');
    expect(
      ['1 minute', '1 minutes', '2 hours', '7 day'].map((rate) => expressionOf({ type: 'a', rate })),
    ).toEqual(['rate(1 minute)', 'rate(1 minute)', 'rate(2 hours)', 'rate(7 days)']);
    expect(JSON.parse(tickBody('nightly', { type: 'report', cron: '', payload: { a: 1 } }))).toEqual({
      ...{ type: 'report', payload: { a: 1 }, schedule: 'nightly' },
      ...{ scheduledAt: '<aws.scheduler.scheduled-time>', lateAfterMs: 86_400_000 },
    });
  });
});

describe('a schedule that cannot be', () => {
  const good = { cron: '0 3 * * ? *', type: 'report' };
  const problems = (schedule: unknown, name = 'nightly') =>
    scheduleProblems({ [name]: schedule }, defaultSettings);

  it.each([
    [{ type: 'a' }, /neither 'cron' nor 'rate'; give one of them, such as/],
    [{ ...good, rate: '1 day' }, /both 'cron' and 'rate'; give one of them/],
    [{ ...good, cron: '0 3 * * *' }, /is '0 3 \* \* \*': it has five fields.*six.*Such as '0 3 \* \* \? \*'/],
    [{ ...good, cron: '0 3 * * 1' }, /Such as '0 3 \? \* MON \*'/],
    [{ ...good, cron: '60 3 * * ? *' }, /minutes is '60'; it must be 0 to 59/],
    [{ ...good, cron: '0 3 ? * FUN *' }, /day-of-week is 'FUN'; it must be 1 to 7 or SUN to SAT/],
    [
      { ...good, cron: '0 3 * * * *' },
      /day-of-month is '\*' and day-of-week is '\*'; exactly one of them must be '\?'/,
    ],
    [{ ...good, cron: '0 0 30 2 ? *' }, /a time that never comes; check day, month and year/],
    [
      { rate: '90 seconds', type: 'a' },
      /'rate' is '90 seconds'; it must be a whole number of minutes, hours or days/,
    ],
    [{ rate: '1 day', timeZone: 'UTC', type: 'a' }, /'timeZone' has no effect on a 'rate'; remove it/],
    [{ ...good, timeZone: 'Europe/Berln' }, /'timeZone' is 'Europe\/Berln'.*Did you mean 'Europe\/Berlin'/],
    [{ ...good, timeZone: '+01:00' }, /'timeZone' is '\+01:00'; it must be the name of a time zone/],
    [{ ...good, key: 'a:b' }, /'key' is 'a:b'; it must be 1 to 100 characters/],
    [{ ...good, type: 'a b' }, /'type' is 'a b'; it must be 1 to 100 characters/],
    [{ ...good, payload: 'x'.repeat(70_000) }, /the payload has 70002 bytes; at most 65536 are allowed/],
    [{ ...good, lateAfterMs: 1 }, /'lateAfterMs' is 1; it must be a whole number from 60000 to 86400000/],
    [{ ...good, tz: 'UTC' }, /unknown key 'tz'.*Allowed: cron, rate, timeZone/],
    ['0 3 * * ? *', /it must be an object with 'cron' or 'rate'/],
  ])('%o is refused with its value, what is allowed and what to do', (schedule, message) => {
    const found = problems(schedule);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(message);
    expect(found[0]).toMatch(/^schedule 'nightly'/);
  });
});
