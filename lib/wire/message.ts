import { defined } from './defined.ts';
import { didYouMean } from './nearest.ts';
import { isTraceparent } from './trace.ts';

/** Any value that JSON can express. */
export type JsonValue =
  | null
  | boolean
  | number
  | string
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };

/** A producer's request to run a job. Without a `jobId`, the SQS message id becomes it. */
export interface JobMessage
  extends Pick<SendOptions, 'jobId' | 'key' | 'leaseMs' | 'maxAttempts' | 'maxCrashes' | 'traceparent'> {
  readonly kind: 'job';
  /** The job id derives from schedule and time, so a tick makes at most one job. */
  readonly tick?: Tick;
  readonly type: string;
  /** JSON text, exactly as it will be stored. */
  readonly payload: string;
  /** Epoch ms before which the job must not run. */
  readonly notBefore?: number;
}

export interface Tick {
  readonly schedule: string;
  readonly at: number;
  readonly lateAfterMs: number;
}

/** The row holds all data. */
export interface HintMessage {
  readonly kind: 'hint';
  readonly jobId: string;
  /** Lets a worker skip types it does not run, without reading the row. */
  readonly type?: string;
  /** Came from another queue, whose workers do not run the type. */
  readonly forwarded?: boolean;
  /** Lets a worker read the job's limit together with its row. */
  readonly key?: string;
}

export interface MessageLimits {
  readonly minLeaseMs: number;
  readonly maxLeaseMs: number;
  readonly maxAttempts: number;
  readonly maxDelayMs: number;
  readonly maxPayloadBytes: number;
}

export type ParsedMessage =
  | { readonly ok: true; readonly message: JobMessage | HintMessage }
  /** With the id it names, if legal, because its producer looks there. */
  | { readonly ok: false; readonly reason: string; readonly jobId?: string };

/** Options of a message besides its type and payload. */
export interface SendOptions {
  readonly jobId?: string;
  /** What a limit per key counts by, such as a tenant. */
  readonly key?: string;
  /** Epoch ms, or an ISO 8601 instant. */
  readonly notBefore?: number | string;
  /** Milliseconds from the time of sending. */
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
const MAX_KEY_LENGTH = 100;
const MAX_SCHEDULE_LENGTH = 64;
const TICK_KEYS = ['schedule', 'scheduledAt', 'lateAfterMs'];
const KEYS = [
  'jobId',
  'type',
  'key',
  'payload',
  'notBefore',
  'delayMs',
  'leaseMs',
  'maxAttempts',
  'maxCrashes',
  'traceparent',
  ...TICK_KEYS,
];
const LATE_AFTER_MS = { least: 60_000, most: 86_400_000 } as const;
const QUOTED_LENGTH = 80;
const CONTROL_CHARACTERS = /[\p{Cc}\u2028\u2029]/gu;
/** `Date.parse` alone would read '1' as the year 2001, and a time without a zone as local time. */
const INSTANT = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;

/** The SDK loses a map key named `__proto__`. */
const isName = (value: unknown, maxLength: number): value is string =>
  typeof value === 'string' && value.length <= maxLength && NAME.test(value) && value !== '__proto__';

export const isJobId = (value: unknown): value is string => isName(value, MAX_JOB_ID_LENGTH);

export const isJobType = (value: unknown): value is string => isName(value, MAX_TYPE_LENGTH);

export const isKey = (value: unknown): value is string => isName(value, MAX_KEY_LENGTH);

export const KEY_RULE = `1 to ${MAX_KEY_LENGTH} characters of A-Z a-z 0-9 . _ -`;

export const isScheduleName = (value: unknown): value is string =>
  typeof value === 'string' && value.length <= MAX_SCHEDULE_LENGTH && NAME.test(value);

/** For example nightly.20270131T030000Z. */
const tickId = ({ schedule, at }: Tick): string =>
  `${schedule}.${new Date(at).toISOString().replace(/[-:]|\.\d+/g, '')}`;

/** For error messages: short, on one line, never a whole payload. */
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

/** Handles functions, BigInts, cycles and deep values. */
const describe = (value: unknown): string =>
  typeof value === 'object' ? 'an object that is not JSON' : String(value);

export const hintBody = ({ jobId, type, key, forwarded }: Omit<HintMessage, 'kind'>): string =>
  JSON.stringify({ hint: jobId, type, key, forwarded });

/** What a plain `SendMessage` from any language would carry. */
export const jobBody = (type: string, payload: unknown, options: SendOptions = {}): string =>
  JSON.stringify({ type, payload, ...options });

/** Never throws: a bad message gets a reason for its producer. `sentAt` anchors a relative delay. */
export function parseMessage(
  body: string,
  limits: MessageLimits,
  times: { readonly sentAt: number; readonly now: number },
): ParsedMessage {
  let given: Record<string, unknown> = {};
  try {
    given = parseFields(body);
    const isHint = Object.hasOwn(given, 'hint');
    return { ok: true, message: isHint ? parseHint(given) : parseNewJob(given, limits, times) };
  } catch (error) {
    if (!(error instanceof BadMessage)) throw error;
    const jobId = isJobId(given.jobId) && !Object.hasOwn(given, 'hint') ? given.jobId : undefined;
    return { ok: false, reason: error.message, ...defined({ jobId }) };
  }
}

class BadMessage extends Error {}

function parseFields(body: string): Record<string, unknown> {
  let fields: unknown;
  try {
    fields = JSON.parse(body);
  } catch (error) {
    throw new BadMessage(
      `the message body is not JSON (${(error as Error).message}); send a JSON object with a 'type' and a 'payload'`,
    );
  }
  if (typeof fields === 'object' && fields !== null && !Array.isArray(fields))
    return fields as Record<string, unknown>;
  throw new BadMessage(
    `the message body is ${quoted(fields)}; it must be a JSON object with a 'type' and a 'payload'`,
  );
}

function parseHint(given: Record<string, unknown>): HintMessage {
  if (!isJobId(given.hint))
    throw new BadMessage(
      `the hint names ${quoted(given.hint)}, which is not a job id; only Leasehold sends hints`,
    );
  const type = isJobType(given.type) ? given.type : undefined;
  const key = isKey(given.key) ? given.key : undefined;
  const forwarded = given.forwarded === true ? true : undefined;
  return { kind: 'hint', jobId: given.hint, ...defined({ type, key, forwarded }) };
}

function parseNewJob(
  given: Record<string, unknown>,
  limits: MessageLimits,
  times: { readonly sentAt: number; readonly now: number },
): JobMessage {
  const unknown = Object.keys(given).find((key) => !KEYS.includes(key));
  if (unknown !== undefined)
    throw new BadMessage(
      `the message has an unknown key ${quoted(unknown)}.${didYouMean(unknown, KEYS)} Allowed: ${KEYS.join(', ')}; put your own data in 'payload'`,
    );
  if (!isJobType(given.type))
    throw new BadMessage(
      `'type' is ${quoted(given.type)}; it must be 1 to ${MAX_TYPE_LENGTH} characters of A-Z a-z 0-9 . _ -, and not __proto__`,
    );
  if (given.jobId !== undefined && !isJobId(given.jobId))
    throw new BadMessage(
      `'jobId' is ${quoted(given.jobId)}; it must be 1 to ${MAX_JOB_ID_LENGTH} characters of A-Z a-z 0-9 . _ -, and not __proto__ (or left out: the SQS message id is used)`,
    );
  if (given.key !== undefined && !isKey(given.key))
    throw new BadMessage(
      `'key' is ${quoted(given.key)}; it must be ${KEY_RULE} (or left out: the job then counts towards no limit per key)`,
    );
  const payload = jsonText(given.payload ?? null);
  if (payload === undefined)
    throw new BadMessage('the payload is nested too deeply to be stored; flatten it');
  const bytes = Buffer.byteLength(payload);
  if (bytes > limits.maxPayloadBytes)
    throw new BadMessage(
      `the payload has ${bytes} bytes; at most ${limits.maxPayloadBytes} are allowed. Put the data in S3 and send its key`,
    );
  const notBefore = parseNotBefore(given, times, limits);
  const numbers = parseNumbers(given, limits);
  const tick = parseTick(given, times, limits);
  const { traceparent } = given;
  if (traceparent !== undefined && !isTraceparent(traceparent))
    throw new BadMessage(
      `'traceparent' is ${quoted(traceparent)}; it must be one of W3C Trace Context, such as 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01, or left out`,
    );
  return {
    kind: 'job',
    type: given.type,
    payload,
    jobId: tick === undefined ? given.jobId : tickId(tick),
    notBefore: tick === undefined ? notBefore : tick.at,
    ...numbers,
    ...defined({ key: given.key, traceparent, tick }),
  };
}

/** Undefined if the value is not JSON or is nested too deeply for the stack. */
function jsonText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

function parseNotBefore(
  given: Record<string, unknown>,
  times: { readonly sentAt: number; readonly now: number },
  limits: MessageLimits,
): number | undefined {
  const { notBefore, delayMs } = given;
  if (notBefore === undefined && delayMs === undefined) return undefined;
  if (notBefore !== undefined && delayMs !== undefined)
    throw new BadMessage(`the message has both 'notBefore' and 'delayMs'; send one of them`);
  if (delayMs !== undefined) {
    if (!isWholeNumber(delayMs, 0, limits.maxDelayMs))
      throw new BadMessage(
        `'delayMs' is ${quoted(delayMs)}; it must be a whole number from 0 to ${limits.maxDelayMs}`,
      );
    return times.sentAt + delayMs;
  }
  const at = typeof notBefore === 'string' && INSTANT.test(notBefore) ? Date.parse(notBefore) : notBefore;
  const latest = times.now + limits.maxDelayMs;
  if (!isWholeNumber(at, 0, latest))
    throw new BadMessage(
      `'notBefore' is ${quoted(notBefore)}; it must be epoch milliseconds or an ISO 8601 instant such as 2027-01-31T09:00:00Z, at most ${limits.maxDelayMs} ms ahead`,
    );
  return at;
}

function parseNumbers(given: Record<string, unknown>, limits: MessageLimits) {
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
      throw new BadMessage(
        `'${key}' is ${quoted(value)}; it must be a whole number from ${lowest} to ${highest}`,
      );
    values[key] = value;
  }
  return values;
}

/** An early tick waits for its time. */
function parseTick(
  given: Record<string, unknown>,
  times: { readonly now: number },
  limits: MessageLimits,
): Tick | undefined {
  const { schedule, scheduledAt, lateAfterMs = LATE_AFTER_MS.most } = given;
  const [present] = TICK_KEYS.filter((key) => given[key] !== undefined);
  if (present === undefined) return undefined;
  if (!isScheduleName(schedule))
    throw new BadMessage(
      `the message has '${present}', and its 'schedule' is ${quoted(schedule)}; a tick names its schedule with 1 to ${MAX_SCHEDULE_LENGTH} characters of A-Z a-z 0-9 . _ -`,
    );
  const own = ['jobId', 'notBefore', 'delayMs'].find((key) => given[key] !== undefined);
  if (own !== undefined)
    throw new BadMessage(
      `the tick of a schedule has '${own}'; its id and time follow from 'scheduledAt'. Remove it`,
    );
  const at =
    typeof scheduledAt === 'string' && INSTANT.test(scheduledAt) ? Date.parse(scheduledAt) : undefined;
  if (!isWholeNumber(at, 0, times.now + limits.maxDelayMs))
    throw new BadMessage(
      `'scheduledAt' is ${quoted(scheduledAt)}; it must be an ISO 8601 instant such as 2027-01-31T09:00:00Z, which EventBridge Scheduler puts in the place of <aws.scheduler.scheduled-time>`,
    );
  const { least, most } = LATE_AFTER_MS;
  if (!isWholeNumber(lateAfterMs, least, most))
    throw new BadMessage(
      `'lateAfterMs' is ${quoted(lateAfterMs)}; it must be a whole number from ${least} to ${most}`,
    );
  return { schedule, at, lateAfterMs };
}

const isWholeNumber = (value: unknown, lowest: number, highest: number): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= lowest && value <= highest;
