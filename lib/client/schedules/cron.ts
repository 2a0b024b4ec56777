import { type LocalTime, localTimeAt, utcOf } from './time-zone.ts';

export interface Cron {
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly months: readonly number[];
  readonly years: readonly number[];
  daysIn(year: number, month: number): readonly number[];
}

export class CronProblem extends Error {}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
const FIELDS = 'minutes hours day-of-month month day-of-week year';
const FIRST_YEAR = 1970;
const LAST_YEAR = 2199;

/** Throws a `CronProblem` that names the wrong field. */
export function parseCron(text: string): Cron {
  const fields = text.trim().split(/\s+/);
  const [minute = '', hour = '', day = '', month = '', weekday = '', year = ''] = fields;
  if (fields.length === 5)
    throw new CronProblem(
      `it has five fields; EventBridge's cron has six: ${FIELDS}, and one of the two days is '?'. Such as '${sixFields(fields)}'`,
    );
  if (fields.length !== 6)
    throw new CronProblem(
      `it has ${fields.length} fields; it must have six: ${FIELDS}, such as '0 3 * * ? *'`,
    );
  if ((day === '?') === (weekday === '?'))
    throw new CronProblem(
      `day-of-month is '${day}' and day-of-week is '${weekday}'; exactly one of them must be '?'`,
    );
  return {
    minutes: values('minutes', minute, 0, 59),
    hours: values('hours', hour, 0, 23),
    months: values('month', month, 1, 12, MONTHS),
    years: values('year', year, FIRST_YEAR, LAST_YEAR),
    daysIn: weekday === '?' ? daysOfMonth(day) : daysOfWeek(weekday),
  };
}

export function nextCronTick(cron: Cron, timeZone: string, after: number): number | undefined {
  const from = localTimeAt(after, timeZone);
  for (const year of cron.years.filter((each) => each >= from.year))
    for (const month of cron.months) {
      if (year === from.year && month < from.month) continue;
      for (const day of cron.daysIn(year, month)) {
        if (year === from.year && month === from.month && day < from.day) continue;
        const tick = firstOn(cron, timeZone, { year, month, day }, after);
        if (tick !== undefined) return tick;
      }
    }
  return undefined;
}

/** Skipped local times have no tick; repeated ones have one, the first. */
function firstOn(
  { hours, minutes }: Cron,
  timeZone: string,
  date: Pick<LocalTime, 'year' | 'month' | 'day'>,
  after: number,
): number | undefined {
  for (const hour of hours)
    for (const minute of minutes) {
      const at = utcOf({ ...date, hour, minute }, timeZone);
      if (at !== undefined && at > after) return at;
    }
  return undefined;
}

/** Classic five-field cron in EventBridge's form. */
function sixFields([
  minute = '*',
  hour = '*',
  day = '*',
  month = '*',
  weekday = '*',
]: readonly string[]): string {
  const named = weekday.replace(/\d/g, (digit) => WEEKDAYS[Number(digit) % 7] ?? digit);
  const days = weekday === '*' ? [day, '?'] : ['?', named];
  return [minute, hour, days[0], month, days[1], '*'].join(' ');
}

function values(
  field: string,
  text: string,
  lowest: number,
  highest: number,
  names: readonly string[] = [],
): readonly number[] {
  const wrong = () =>
    new CronProblem(
      `${field} is '${text}'; it must be ${lowest} to ${highest}${names.length > 0 ? ` or ${names[0]} to ${names.at(-1)}` : ''}, with , - * and /`,
    );
  const number = (part: string): number => {
    const named = names.indexOf(part.toUpperCase());
    const value = named >= 0 ? named + 1 : /^\d{1,4}$/.test(part) ? Number(part) : Number.NaN;
    if (!(value >= lowest && value <= highest)) throw wrong();
    return value;
  };
  const found = new Set<number>();
  for (const part of text.split(',')) {
    const [span = '', step = '1', ...more] = part.split('/');
    if (more.length > 0 || !/^[1-9]\d{0,3}$/.test(step)) throw wrong();
    const [first = '', last, ...rest] = span.split('-');
    if (rest.length > 0) throw wrong();
    const from = first === '*' ? lowest : number(first);
    const to = last !== undefined ? number(last) : first === '*' || part.includes('/') ? highest : from;
    if (first === '*' && last !== undefined) throw wrong();
    if (to < from) throw wrong();
    for (let value = from; value <= to; value += Number(step)) found.add(value);
  }
  return [...found].sort((a, b) => a - b);
}

const lengthOf = (year: number, month: number): number => new Date(Date.UTC(year, month, 0)).getUTCDate();
/** 1 is Sunday. */
const weekdayOf = (year: number, month: number, day: number): number =>
  new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 1;

function daysOfMonth(text: string): Cron['daysIn'] {
  if (text === 'L') return (year, month) => [lengthOf(year, month)];
  const [, nearest] = /^(\d{1,2})W$/.exec(text) ?? [];
  if (nearest !== undefined) {
    const [wanted = 1] = values('day-of-month', nearest, 1, 31);
    return (year, month) => (wanted > lengthOf(year, month) ? [] : [weekdayNearest(year, month, wanted)]);
  }
  const days = values('day-of-month', text, 1, 31);
  return (year, month) => days.filter((day) => day <= lengthOf(year, month));
}

/** Within the same month. */
function weekdayNearest(year: number, month: number, day: number): number {
  const weekday = weekdayOf(year, month, day);
  if (weekday === 7) return day > 1 ? day - 1 : day + 2;
  if (weekday === 1) return day < lengthOf(year, month) ? day + 1 : day - 2;
  return day;
}

function daysOfWeek(text: string): Cron['daysIn'] {
  const all = (year: number, month: number) => Array.from({ length: lengthOf(year, month) }, (_, i) => i + 1);
  const [, lastOne] = /^(.+)L$/i.exec(text) ?? [];
  if (lastOne !== undefined) {
    const [wanted] = values('day-of-week', lastOne, 1, 7, WEEKDAYS);
    return (year, month) =>
      all(year, month)
        .filter((day) => weekdayOf(year, month, day) === wanted)
        .slice(-1);
  }
  const [, nth, number] = /^(.+)#([1-5])$/.exec(text) ?? [];
  if (nth !== undefined) {
    const [wanted] = values('day-of-week', nth, 1, 7, WEEKDAYS);
    const which = Number(number) - 1;
    return (year, month) =>
      all(year, month)
        .filter((day) => weekdayOf(year, month, day) === wanted)
        .slice(which, which + 1);
  }
  const wanted = text === 'L' ? [7] : values('day-of-week', text, 1, 7, WEEKDAYS);
  return (year, month) => all(year, month).filter((day) => wanted.includes(weekdayOf(year, month, day)));
}
