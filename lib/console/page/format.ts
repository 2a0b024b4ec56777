const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A length of time in the two largest units that matter: `3.2 s`, `4 min 10 s`, `2 h 5 min`. */
export function duration(ms: number): string {
  const abs = Math.abs(ms);
  if (abs < SECOND) return `${Math.round(abs)} ms`;
  if (abs < 10 * SECOND) return `${(abs / SECOND).toFixed(1)} s`;
  if (abs < MINUTE) return `${Math.round(abs / SECOND)} s`;
  if (abs < HOUR) return pair(abs, MINUTE, 'min', SECOND, 's');
  if (abs < DAY) return pair(abs, HOUR, 'h', MINUTE, 'min');
  return pair(abs, DAY, 'd', HOUR, 'h');
}

function pair(ms: number, large: number, largeUnit: string, small: number, smallUnit: string): string {
  const rest = Math.floor((ms % large) / small);
  return `${Math.floor(ms / large)} ${largeUnit}${rest === 0 ? '' : ` ${rest} ${smallUnit}`}`;
}

/** How long ago, in one unit: `now`, `12 s`, `4 min`. */
export function age(at: number, now: number): string {
  const ms = now - at;
  if (ms < -SECOND) return `in ${duration(ms)}`;
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
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

export const timeOfDay = (at: number): string => clock.format(at);
export const dateAndTime = (at: number): string => full.format(at);

/** JSON text, indented; other text as it is. */
export function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString()} ${count === 1 ? one : many}`;
