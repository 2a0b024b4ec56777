import { formatDuration, formatRoughly } from '../../inspect/format-duration.ts';
import type { Count } from '../../inspect/health.ts';

export function age(at: number, now: number): string {
  const ms = now - at;
  if (ms < -1000) return `in ${formatDuration(ms)}`;
  return ms < 1000 ? 'now' : formatRoughly(Math.floor(ms / 1000) * 1000);
}

const clock = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 1,
  hourCycle: 'h23',
});
const full = new Intl.DateTimeFormat(undefined, {
  dateStyle: 'medium',
  timeStyle: 'medium',
  hourCycle: 'h23',
});
const minute = new Intl.DateTimeFormat(undefined, { timeStyle: 'short', hourCycle: 'h23' });

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
