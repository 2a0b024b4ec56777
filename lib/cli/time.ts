import { formatAge } from '../inspect/format-duration.ts';

/** Durations and instants as people write and read them. */

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const;

const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|d|h|m|s))+$/;

/** `90s`, `1h30m`, `500ms`, `0` in ms; undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  if (text === '0') return 0;
  if (!DURATION.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|d|h|m|s)/g)) {
    const scale = UNITS.find(([name]) => name === unit)?.[1] ?? Number.NaN;
    total += Number(amount) * scale;
  }
  return Math.round(total);
}

export interface Zone {
  /** An IANA name; undefined means the machine's own. */
  readonly timeZone?: string;
}

/** `2026-11-16 05:04:08.120 GMT+1` in the reader's zone. */
export function formatInstant(at: number, { timeZone }: Zone, precision: 'ms' | 's' = 's'): string {
  const parts = new Intl.DateTimeFormat('en-GB', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
    hourCycle: 'h23',
    timeZoneName: 'short',
  }).formatToParts(new Date(at));
  const part = (type: Intl.DateTimeFormatPartTypes | 'fractionalSecond') =>
    parts.find((each) => each.type === type)?.value ?? '';
  const seconds = precision === 'ms' ? `${part('second')}.${part('fractionalSecond')}` : part('second');
  return `${part('year')}-${part('month')}-${part('day')} ${part('hour')}:${part('minute')}:${seconds} ${part('timeZoneName')}`;
}

/** The instant with its distance from now: `2026-11-16 05:04:08 UTC (12 s ago)`. */
export const formatInstantAndAge = (at: number, now: number, zone: Zone): string =>
  `${formatInstant(at, zone)} (${formatAge(at, now)})`;

/** An instant given as ISO 8601, or as a duration before now (`2h`); undefined for anything else. */
export function parseInstant(text: string, now: number): number | undefined {
  const ago = parseDuration(text);
  if (ago !== undefined) return now - ago;
  if (!/^\d{4}-\d{2}-\d{2}/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}
