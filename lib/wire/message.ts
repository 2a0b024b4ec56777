import { defined } from './defined.ts';
import { didYouMean } from './nearest.ts';
import { isTraceparent } from './trace.ts';

/**
 * What travels in the queue. A job message is written by producers in any language with a plain `SendMessage`; a hint is
 * written by Leasehold and only names a row.
 */

/** What JSON can say. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** A producer's request to run a job. */
export interface JobMessage {
  readonly kind: 'job';
  /** Absent: the SQS message id becomes the job id. */
  readonly jobId?: string;
  /** The message is a tick of a schedule: its id follows from schedule and time, so that a tick makes at most one job. */
  readonly tick?: Tick;
  readonly type: string;
  /** The payload as JSON text, exactly as it will be kept in the row. */
  readonly payload: string;
  /** Epoch ms before which the job must not run. */
  readonly notBefore?: number;
  readonly leaseMs?: number;
  readonly maxAttempts?: number;
  readonly maxCrashes?: number;
  readonly traceparent?: string;
}

/** One tick of a schedule. */
export interface Tick {
  readonly schedule: string;
  /** Epoch ms for which it was scheduled. */
  readonly at: number;
  /** Received later than this, it makes no job. */
  readonly lateAfterMs: number;
}

/** Leasehold's message that a row needs a worker. It carries no data: the row is the truth. */
interface HintMessage {
  readonly kind: 'hint';
  readonly jobId: string;
  /** Tells a worker whether it wants the job before it asks for the row. */
  readonly type?: string;
}

export interface MessageLimits {
  readonly minLeaseMs: number;
  readonly maxLeaseMs: number;
  readonly maxAttempts: number;
  readonly maxDelayMs: number;
  readonly maxPayloadBytes: number;
}

/** How a message was read: what it says, or why it cannot be run (and what to send instead). */
export type ParsedMessage =
  | { readonly ok: true; readonly message: JobMessage | HintMessage }
  /** With the id that it names, where that is a legal one: there its producer will look for it. */
  | { readonly ok: false; readonly reason: string; readonly jobId?: string };

/** What a producer may put into a message besides its type and payload. */
export interface SendOptions {
  readonly jobId?: string;
  /** Epoch ms, or an ISO 8601 instant. */
  readonly notBefore?: number | string;
  /** Milliseconds from the moment of sending. */
  readonly delayMs?: number;
  readonly leaseMs?: number;
  readonly maxAttempts?: number;
  readonly maxCrashes?: number;
  /** W3C Trace Context. @default - in a handler, that of its own job */
  readonly traceparent?: string;
}

const NAME = /^[A-Za-z0-9._-]+$/;
const MAX_JOB_ID_LENGTH = 200;
const MAX_TYPE_LENGTH = 100;
const MAX_SCHEDULE_LENGTH = 64;
const TICK_KEYS = ['schedule', 'scheduledAt', 'lateAfterMs'];
const KEYS = [
  ...['jobId', 'type', 'payload', 'notBefore', 'delayMs', 'leaseMs', 'maxAttempts', 'maxCrashes'],
  ...['traceparent', ...TICK_KEYS],
];
/** How late the tick of a schedule may be. */
const LATE_AFTER_MS = { least: 60_000, most: 86_400_000 } as const;
/** How much of a bad value an error message repeats. */
const QUOTED_LENGTH = 80;
const CONTROL_CHARACTERS = /[\p{Cc}\u2028\u2029]/gu;
/** `Date.parse` alone would read '1' as the year 2001, and a time without a zone as the worker's local time. */
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;

export const isJobId = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= MAX_JOB_ID_LENGTH && NAME.test(value);

export const isJobType = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= MAX_TYPE_LENGTH && NAME.test(value);

export const isScheduleName = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= MAX_SCHEDULE_LENGTH && NAME.test(value);

/** The id of the one job that a tick may make, such as nightly.20270131T030000Z. */
const tickId = ({ schedule, at }: Tick): string =>
  `${schedule}.${new Date(at).toISOString().replace(/[-:]|\.\d+/g, '')}`;

/** A value as an error message may show it: short, on one line, never a whole payload. */
export function quoted(value: unknown): string {
  const text =
    typeof value === 'string'
      ? `'${value}'`
      : typeof value === 'number'
        ? String(value)
        : (jsonText(value) ?? describe(value));
  const cut = text.length > QUOTED_LENGTH;
  const shown = (cut ? text.slice(0, QUOTED_LENGTH) : text).replace(CONTROL_CHARACTERS, ' ').toWellFormed();
  return cut ? `${shown}… (${text.length} characters)` : shown;
}

/** For what JSON cannot express: a function, a BigInt, a cycle, or a value nested too deeply to be written out. */
const describe = (value: unknown): string =>
  typeof value === 'object' ? 'an object that is not JSON' : String(value);

/** The body of the hint that tells a worker to look at this row. */
export const hintBody = (jobId: string, type?: string): string => JSON.stringify({ hint: jobId, type });

/** The body that a plain `SendMessage` from any language would carry. */
export const jobBody = (type: string, payload: unknown, options: SendOptions = {}): string =>
  JSON.stringify({ type, payload, ...options });

/**
 * Reads a message body. `sentAt` anchors a relative delay; `now` bounds how far ahead a job may be scheduled.
 * Never throws: whatever a producer sends is either runnable or has a reason that its producer can act on.
 */
export function parseMessage(
  body: string,
  limits: MessageLimits,
  times: { readonly sentAt: number; readonly now: number },
): ParsedMessage {
  let fields: unknown;
  try {
    fields = JSON.parse(body);
  } catch (error) {
    return bad(
      `the message body is not JSON (${(error as Error).message}); send a JSON object with a 'type' and a 'payload'`,
    );
  }
  if (typeof fields !== 'object' || fields === null || Array.isArray(fields))
    return bad(
      `the message body is ${quoted(fields)}; it must be a JSON object with a 'type' and a 'payload'`,
    );
  const given = fields as Record<string, unknown>;
  if (Object.hasOwn(given, 'hint')) return parseHint(given);
  const parsed = parseNewJob(given, limits, times);
  return parsed.ok || !isJobId(given.jobId) ? parsed : { ...parsed, jobId: given.jobId };
}

function parseHint(given: Record<string, unknown>): ParsedMessage {
  if (!isJobId(given.hint))
    return bad(`the hint names ${quoted(given.hint)}, which is not a job id; only Leasehold sends hints`);
  const type = isJobType(given.type) ? given.type : undefined;
  return { ok: true, message: { kind: 'hint', jobId: given.hint, ...defined({ type }) } };
}

function parseNewJob(
  given: Record<string, unknown>,
  limits: MessageLimits,
  times: { readonly sentAt: number; readonly now: number },
): ParsedMessage {
  const unknown = Object.keys(given).find((key) => !KEYS.includes(key));
  if (unknown !== undefined)
    return bad(
      `the message has an unknown key ${quoted(unknown)}.${didYouMean(unknown, KEYS)} Allowed: ${KEYS.join(', ')}; put your own data in 'payload'`,
    );
  if (!isJobType(given.type))
    return bad(
      `'type' is ${quoted(given.type)}; it must be 1 to ${MAX_TYPE_LENGTH} characters of A-Z a-z 0-9 . _ -`,
    );
  if (given.jobId !== undefined && !isJobId(given.jobId))
    return bad(
      `'jobId' is ${quoted(given.jobId)}; it must be 1 to ${MAX_JOB_ID_LENGTH} characters of A-Z a-z 0-9 . _ - (or left out: the SQS message id is used)`,
    );
  const payload = jsonText(given.payload ?? null);
  if (payload === undefined) return bad('the payload is nested too deeply to be stored; flatten it');
  const bytes = Buffer.byteLength(payload);
  if (bytes > limits.maxPayloadBytes)
    return bad(
      `the payload has ${bytes} bytes; at most ${limits.maxPayloadBytes} are allowed. Put the data in S3 and send its key`,
    );
  const when = parseNotBefore(given, times, limits);
  if (!when.ok) return when;
  const numbers = parseNumbers(given, limits);
  if (!numbers.ok) return numbers;
  const ticked = parseTick(given, times, limits);
  if (!ticked.ok) return ticked;
  const { tick } = ticked;
  const { traceparent } = given;
  if (traceparent !== undefined && !isTraceparent(traceparent))
    return bad(
      `'traceparent' is ${quoted(traceparent)}; it must be one of W3C Trace Context, such as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01, or left out`,
    );
  return {
    ok: true,
    message: {
      kind: 'job',
      type: given.type,
      payload,
      jobId: tick === undefined ? given.jobId : tickId(tick),
      notBefore: tick === undefined ? when.notBefore : tick.at,
      ...numbers.values,
      ...defined({ traceparent, tick }),
    },
  };
}

/** Undefined for what is not JSON, or nested so deeply that writing it out would exhaust the stack. */
function jsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

type Bad = { readonly ok: false; readonly reason: string };

function parseNotBefore(
  given: Record<string, unknown>,
  times: { readonly sentAt: number; readonly now: number },
  limits: MessageLimits,
): { readonly ok: true; readonly notBefore?: number } | Bad {
  const { notBefore, delayMs } = given;
  if (notBefore === undefined && delayMs === undefined) return { ok: true };
  if (notBefore !== undefined && delayMs !== undefined)
    return bad(`the message has both 'notBefore' and 'delayMs'; send one of them`);
  if (delayMs !== undefined) {
    if (!isWholeNumber(delayMs, 0, limits.maxDelayMs))
      return bad(`'delayMs' is ${quoted(delayMs)}; it must be a whole number from 0 to ${limits.maxDelayMs}`);
    return { ok: true, notBefore: times.sentAt + delayMs };
  }
  const at = typeof notBefore === 'string' && INSTANT.test(notBefore) ? Date.parse(notBefore) : notBefore;
  const latest = times.now + limits.maxDelayMs;
  if (!isWholeNumber(at, 0, latest))
    return bad(
      `'notBefore' is ${quoted(notBefore)}; it must be epoch milliseconds or an ISO 8601 instant such as 2027-01-31T09:00:00Z, at most ${limits.maxDelayMs} ms ahead`,
    );
  return { ok: true, notBefore: at };
}

function parseNumbers(
  given: Record<string, unknown>,
  limits: MessageLimits,
): { readonly ok: true; readonly values: Pick<JobMessage, 'leaseMs' | 'maxAttempts' | 'maxCrashes'> } | Bad {
  const ranges = {
    leaseMs: [limits.minLeaseMs, limits.maxLeaseMs],
    maxAttempts: [1, limits.maxAttempts],
    maxCrashes: [1, limits.maxAttempts],
  } as const;
  const values: { leaseMs?: number; maxAttempts?: number; maxCrashes?: number } = {};
  for (const key of ['leaseMs', 'maxAttempts', 'maxCrashes'] as const) {
    const value = given[key];
    if (value === undefined) continue;
    const [lowest, highest] = ranges[key];
    if (!isWholeNumber(value, lowest, highest))
      return bad(`'${key}' is ${quoted(value)}; it must be a whole number from ${lowest} to ${highest}`);
    values[key] = value;
  }
  return { ok: true, values };
}

/** A tick that came before its time waits for it: `at` is bounded like any other `notBefore`. */
function parseTick(
  given: Record<string, unknown>,
  times: { readonly now: number },
  limits: MessageLimits,
): { readonly ok: true; readonly tick?: Tick } | Bad {
  const { schedule, scheduledAt, lateAfterMs = LATE_AFTER_MS.most } = given;
  const [present] = TICK_KEYS.filter((key) => given[key] !== undefined);
  if (present === undefined) return { ok: true };
  if (!isScheduleName(schedule))
    return bad(
      `the message has '${present}', and its 'schedule' is ${quoted(schedule)}; a tick names its schedule with 1 to ${MAX_SCHEDULE_LENGTH} characters of A-Z a-z 0-9 . _ -`,
    );
  const own = ['jobId', 'notBefore', 'delayMs'].find((key) => given[key] !== undefined);
  if (own !== undefined)
    return bad(`the tick of a schedule has '${own}'; its id and time follow from 'scheduledAt'. Remove it`);
  const at =
    typeof scheduledAt === 'string' && INSTANT.test(scheduledAt) ? Date.parse(scheduledAt) : undefined;
  if (!isWholeNumber(at, 0, times.now + limits.maxDelayMs))
    return bad(
      `'scheduledAt' is ${quoted(scheduledAt)}; it must be an ISO 8601 instant such as 2027-01-31T09:00:00Z, which EventBridge Scheduler puts in the place of <aws.scheduler.scheduled-time>`,
    );
  const { least, most } = LATE_AFTER_MS;
  if (!isWholeNumber(lateAfterMs, least, most))
    return bad(`'lateAfterMs' is ${quoted(lateAfterMs)}; it must be a whole number from ${least} to ${most}`);
  return { ok: true, tick: { schedule, at, lateAfterMs } };
}

const isWholeNumber = (value: unknown, lowest: number, highest: number): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= lowest && value <= highest;

const bad = (reason: string): Bad => ({ ok: false, reason });
