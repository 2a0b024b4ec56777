import type { JsonValue } from '../../wire/message.ts';
import { type Cron, nextCronTick, parseCron } from './cron.ts';
import { UTC } from './time-zone.ts';

/** A recurring job: when, and what. Give `cron` or `rate`. */
export interface Schedule {
  /**
   * Six fields, as EventBridge Scheduler has them: minutes, hours, day of month, month, day of week, year; one of the two days
   * is '?'. Such as '0 3 * * ? *' for three o'clock every night.
   */
  readonly cron?: string;
  /** A number of minutes, hours or days, such as '5 minutes'. */
  readonly rate?: string;
  /** The zone of `cron`, such as Europe/Berlin. @default UTC */
  readonly timeZone?: string;
  /** The type of the jobs. */
  readonly type: string;
  /** Their payload. The text <aws.scheduler.scheduled-time> in it becomes the time of the tick. @default null */
  readonly payload?: JsonValue;
  /** A tick that reaches a worker later than this makes no job: a minute to a day. @default - a day */
  readonly lateAfterMs?: number;
}

/** Schedules by their names. */
export type Schedules = Readonly<Record<string, Schedule>>;

/** EventBridge Scheduler puts the time of a tick in the place of this. */
export const SCHEDULED_TIME = '<aws.scheduler.scheduled-time>';

export const DEFAULT_LATE_AFTER_MS = 86_400_000;

const RATE = /^([1-9]\d{0,5}) (minute|hour|day)s?$/;
const UNIT_MS: Readonly<Record<string, number>> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 };

/** The length of a rate in milliseconds; undefined where it is none. */
export function rateMs(rate: unknown): number | undefined {
  const [, count, unit] = (typeof rate === 'string' && RATE.exec(rate)) || [];
  return count === undefined ? undefined : Number(count) * (UNIT_MS[unit ?? ''] ?? 0);
}

/** The expression as EventBridge Scheduler takes it. */
export function expressionOf({ cron, rate }: Schedule): string {
  if (cron !== undefined) return `cron(${cron.trim().split(/\s+/).join(' ')})`;
  const [, count = '', unit = ''] = RATE.exec(rate ?? '') ?? [];
  return `rate(${count} ${unit}${count === '1' ? '' : 's'})`;
}

/** The message of a schedule's ticks. */
export const tickBody = (name: string, { type, payload = null, lateAfterMs }: Schedule): string =>
  JSON.stringify({
    type,
    payload,
    schedule: name,
    scheduledAt: SCHEDULED_TIME,
    lateAfterMs: lateAfterMs ?? DEFAULT_LATE_AFTER_MS,
  });

/** Tells the ticks of a schedule, one after the other. */
export interface Timetable {
  /** The first tick after a moment; undefined where none is left. */
  next(after: number): number | undefined;
}

/** The ticks of a valid schedule. A rate counts from `anchor`. */
export function timetableOf({ cron, rate, timeZone = UTC }: Schedule, anchor = 0): Timetable {
  if (cron !== undefined) {
    const parsed: Cron = parseCron(cron);
    return { next: (after) => nextCronTick(parsed, timeZone, after) };
  }
  const every = rateMs(rate) ?? Number.NaN;
  return { next: (after) => anchor + (Math.floor((after - anchor) / every) + 1) * every };
}
