import { formatDuration } from '../../inspect/format-duration.ts';
import type { Count } from '../../inspect/health.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export function age(at: number, now: number): string {
  const ms = now - at;
  if (ms < -SECOND) return `in ${formatDuration(ms)}`;
  if (ms < SECOND) return 'now';
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms < DAY) return `${Math.floor(ms / HOUR)} h`;
  return `${Math.floor(ms / DAY)} d`;
}

const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 1,
  hourCycle: 'h23',
});
const full = new Intl.DateTimeFormat(undefined, {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

const minute = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });

export const timeOfMinute = (at: number): string => minute.format(at);
export const timeOfDay = (at: number): string => clock.format(at);
export const dateAndTime = (at: number): string => full.format(at);

/** `1,234`, `1,234+` if there may be more, or a dash if unknown. */
export const figure = (given: Count | undefined): string =>
  given === undefined || (given.count === 0 && !given.complete)
    ? '–'
    : `${given.count.toLocaleString('en-US')}${given.complete ? '' : '+'}`;

export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
