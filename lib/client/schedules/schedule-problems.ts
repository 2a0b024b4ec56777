import { messageLimits } from '../../settings/message-limits.ts';
import type { Settings } from '../../settings/settings.ts';
import { isScheduleName, parseMessage, quoted } from '../../wire/message.ts';
import { didYouMean } from '../../wire/nearest.ts';
import { CronProblem, parseCron } from './cron.ts';
import { rateMs, SCHEDULED_TIME, type Schedule, type Schedules, tickBody, timetableOf } from './schedule.ts';
import { isTimeZone } from './time-zone.ts';

const KEYS: readonly string[] = [
  'cron',
  'rate',
  'timeZone',
  'type',
  'key',
  'payload',
  'lateAfterMs',
] satisfies (keyof Schedule)[];

const SOME_TIME = 1_767_225_600_000;

export function scheduleProblems(schedules: unknown, settings: Settings): string[] {
  if (!isRecord(schedules))
    return [
      `the schedules are ${quoted(schedules)}; they must be an object, by name: { nightly: { cron: '0 3 * * ? *', type: 'report' } }`,
    ];
  return Object.entries(schedules as Schedules).flatMap(([name, schedule]) =>
    problemsOf(name, schedule, settings),
  );
}

function problemsOf(name: string, schedule: Schedule, settings: Settings): string[] {
  if (!isScheduleName(name))
    return [
      `the name of schedule ${quoted(name)} must be 1 to 64 characters of A-Z a-z 0-9 . _ -; rename it`,
    ];
  const of = `schedule '${name}'`;
  if (!isRecord(schedule))
    return [`${of} is ${quoted(schedule)}; it must be an object with 'cron' or 'rate', and a 'type'`];
  const unknown = Object.keys(schedule).filter((key) => !KEYS.includes(key));
  return [
    ...unknown.map(
      (key) => `${of} has an unknown key ${quoted(key)}.${didYouMean(key, KEYS)} Allowed: ${KEYS.join(', ')}`,
    ),
    ...timeProblems(schedule).map((problem) => `${of}: ${problem}`),
    ...messageProblems(name, schedule, settings).map((problem) => `${of}: ${problem}`),
  ];
}

function timeProblems({ cron, rate, timeZone }: Schedule): string[] {
  if ((cron === undefined) === (rate === undefined))
    return [
      `it has ${cron === undefined ? "neither 'cron' nor 'rate'" : "both 'cron' and 'rate'"}; give one of them, such as cron: '0 3 * * ? *' or rate: '5 minutes'`,
    ];
  if (rate !== undefined) {
    const zone = timeZone === undefined ? [] : ["'timeZone' has no effect on a 'rate'; remove it"];
    return rateMs(rate) === undefined
      ? [
          `'rate' is ${quoted(rate)}; it must be a whole number of minutes, hours or days, such as '5 minutes' or '1 hour'`,
          ...zone,
        ]
      : zone;
  }
  if (timeZone !== undefined && !isTimeZone(timeZone))
    return [
      `'timeZone' is ${quoted(timeZone)}; it must be the name of a time zone, such as Europe/Berlin.${didYouMean(String(timeZone), Intl.supportedValuesOf('timeZone'))}`,
    ];
  return cronProblems(cron, timeZone);
}

function cronProblems(cron: unknown, timeZone: string | undefined): string[] {
  if (typeof cron !== 'string')
    return [`'cron' is ${quoted(cron)}; it must be a text of six fields, such as '0 3 * * ? *'`];
  try {
    parseCron(cron);
  } catch (error) {
    if (error instanceof CronProblem) return [`'cron' is ${quoted(cron)}: ${error.message}`];
    throw error;
  }
  const never = timetableOf({ cron, timeZone, type: '' }).next(SOME_TIME) === undefined;
  return never ? [`'cron' is ${quoted(cron)}, a time that never comes; check day, month and year`] : [];
}

/** Uses the worker's parser. */
function messageProblems(name: string, schedule: Schedule, settings: Settings): string[] {
  let body: string;
  try {
    body = tickBody(name, schedule);
  } catch {
    return ["'payload' cannot be written as JSON; it must be plain data"];
  }
  const filled = body.replaceAll(SCHEDULED_TIME, new Date(SOME_TIME).toISOString());
  const parsed = parseMessage(filled, messageLimits(settings), { sentAt: SOME_TIME, now: SOME_TIME });
  return parsed.ok ? [] : [parsed.reason];
}

const isRecord = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
