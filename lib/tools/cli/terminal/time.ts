const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
  ['ms', 1],
] as const;

const DURATION = /^(?:\d+(?:\.\d+)?(?:ms|d|h|m|s))+$/;

/** `90s`, `1h30m`, `500ms`, `0`; undefined for anything else. */
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
  readonly timeZone?: string;
}

type Part = Intl.DateTimeFormatPartTypes | 'fractionalSecond';

function partsOf(at: number, { timeZone }: Zone): (type: Part) => string {
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
  return (type) => parts.find((each) => each.type === type)?.value ?? '';
}

/** `2026-11-16 05:04:08 GMT+1` */
export function formatInstant(at: number, zone: Zone): string {
  const part = partsOf(at, zone);
  return `${dateIn(part)} ${part('hour')}:${part('minute')}:${part('second')} ${part('timeZoneName')}`;
}

/** `2026-11-16 GMT+1` */
export function formatDay(at: number, zone: Zone): string {
  const part = partsOf(at, zone);
  return `${dateIn(part)} ${part('timeZoneName')}`;
}

/** `05:04:08.120` */
export function formatTime(at: number, zone: Zone): string {
  const part = partsOf(at, zone);
  return `${part('hour')}:${part('minute')}:${part('second')}.${part('fractionalSecond')}`;
}

const dateIn = (part: (type: Part) => string): string => `${part('year')}-${part('month')}-${part('day')}`;

/** ISO 8601, or a duration before or after now (`2h`); undefined for anything else. */
export function parseInstant(text: string, now: number, direction: 'ago' | 'ahead'): number | undefined {
  const distance = parseDuration(text);
  if (distance !== undefined) return direction === 'ago' ? now - distance : now + distance;
  if (!/^\d{4}-\d{2}-\d{2}/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}
