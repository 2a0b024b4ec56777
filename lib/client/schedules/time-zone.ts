/** Months count from 1. */
export interface LocalTime {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
}

export const UTC = 'UTC';
const DAY_MS = 86_400_000;
const NAME = /^[A-Za-z][A-Za-z0-9_+-]*(\/[A-Za-z0-9_+-]+)*$/;

const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const numeric = 'numeric';
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: numeric,
    month: numeric,
    day: numeric,
    hour: numeric,
    minute: numeric,
    second: numeric,
  });
  formats.set(timeZone, format);
  return format;
}

export function isTimeZone(name: unknown): name is string {
  if (typeof name !== 'string' || !NAME.test(name)) return false;
  try {
    formatOf(name);
    return true;
  } catch {
    return false;
  }
}

export function localTimeAt(at: number, timeZone: string): LocalTime {
  const shown = Object.fromEntries(
    formatOf(timeZone)
      .formatToParts(at)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0 } = shown;
  return { year, month, day, hour, minute };
}

const wallMs = ({ year, month, day, hour, minute }: LocalTime): number =>
  Date.UTC(year, month - 1, day, hour, minute);

/** The first such instant; undefined if clocks skip it. */
export function utcOf(time: LocalTime, timeZone: string): number | undefined {
  const wall = wallMs(time);
  if (timeZone === UTC) return wall;
  // The offset changes at most once within these two days.
  const offsets = [wall - DAY_MS, wall + DAY_MS].map((near) => wallMs(localTimeAt(near, timeZone)) - near);
  const candidates = offsets
    .map((offset) => wall - offset)
    .filter((at) => wallMs(localTimeAt(at, timeZone)) === wall);
  return candidates.length === 0 ? undefined : Math.min(...candidates);
}
