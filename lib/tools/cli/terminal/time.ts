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

/** Swedes write dates and times as ISO 8601 does. */
const written = (at: number, { timeZone }: Zone, options: Intl.DateTimeFormatOptions): string =>
  new Intl.DateTimeFormat('sv-SE', { timeZone, ...options }).format(at).replace('−', '-').replace(',', '.');

const DATE = { year: 'numeric', month: '2-digit', day: '2-digit' } as const;
const TIME = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const;

/** `2026-11-16 05:04:08 GMT+1` */
export const formatInstant = (at: number, zone: Zone): string =>
  written(at, zone, { ...DATE, ...TIME, timeZoneName: 'short' });

/** `2026-11-16 GMT+1` */
export const formatDay = (at: number, zone: Zone): string =>
  written(at, zone, { ...DATE, timeZoneName: 'short' });

/** `05:04:08.120` */
export const formatTime = (at: number, zone: Zone): string =>
  written(at, zone, { ...TIME, fractionalSecondDigits: 3 });

/** ISO 8601, or a duration before or after now (`2h`); undefined for anything else. */
export function parseInstant(text: string, now: number, direction: 'ago' | 'ahead'): number | undefined {
  const distance = parseDuration(text);
  if (distance !== undefined) return direction === 'ago' ? now - distance : now + distance;
  if (!/^\d{4}-\d{2}-\d{2}/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : at;
}
