import type { JsonValue } from '../../wire/message.ts';
import { nextCronTick, parseCron } from './cron.ts';
import { UTC } from './time-zone.ts';

/** A recurring job. Set either `cron` or `rate`. */
export interface Schedule {
  /** Six EventBridge fields: minutes, hours, day of month, month, day of week, year. '0 3 * * ? *' is 3 a.m. daily. */
  readonly cron?: string;
  /** Minutes, hours or days, such as '5 minutes'. */
  readonly rate?: string;
  /** For `cron`, such as Europe/Berlin. @default UTC */
  readonly timeZone?: string;
  readonly type: string;
  /** What a limit per key counts by. */
  readonly key?: string;
  /** `<aws.scheduler.scheduled-time>` in it becomes the tick's time. @default null */
  readonly payload?: JsonValue;
  /** Ticks that arrive later create no job: a minute to a day. @default - a day */
  readonly lateAfterMs?: number;
}

/** Schedules by name. */
export type Schedules = Readonly<Record<string, Schedule>>;

/** EventBridge Scheduler replaces it with the tick's time. */
export const SCHEDULED_TIME = '<aws.scheduler.scheduled-time>';

export const DEFAULT_LATE_AFTER_MS = 86_400_000;

const RATE = /^([1-9]\d{0,5}) (minute|hour|day)s?$/;
const UNIT_MS: Readonly<Record<string, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

export function rateMs(rate: unknown): number | undefined {
  const [, count, unit] = (typeof rate === 'string' && RATE.exec(rate)) || [];
  return count === undefined ? undefined : Number(count) * (UNIT_MS[unit ?? ''] ?? 0);
}

export function expressionOf({ cron, rate }: Schedule): string {
  if (cron !== undefined) return `cron(${cron.trim().split(/\s+/).join(' ')})`;
  const [, count = '', unit = ''] = RATE.exec(rate ?? '') ?? [];
  return `rate(${count} ${unit}${count === '1' ? '' : 's'})`;
}

export const tickBody = (name: string, { type, key, payload = null, lateAfterMs }: Schedule): string =>
  JSON.stringify({
    type,
    key,
    payload,
    schedule: name,
    scheduledAt: SCHEDULED_TIME,
    lateAfterMs: lateAfterMs ?? DEFAULT_LATE_AFTER_MS,
  });

/** A rate counts from `anchor`. */
export function timetableOf({ cron, rate, timeZone = UTC }: Schedule, anchor = 0) {
  const parsed = cron === undefined ? undefined : parseCron(cron);
  const every = rateMs(rate) ?? Number.NaN;
  return {
    next: (after: number): number | undefined =>
      parsed === undefined
        ? anchor + (Math.floor((after - anchor) / every) + 1) * every
        : nextCronTick(parsed, timeZone, after),
  };
}
