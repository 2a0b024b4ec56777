import { defined } from '../../wire/defined.ts';
import { type JsonValue, quoted } from '../../wire/message.ts';
import {
  ACT_RING_SIZE,
  actAttribute,
  CLAIM_RING_SIZE,
  claimAttribute,
  ROW_FORMAT,
} from '../../wire/table.ts';
import { traceOf } from '../../wire/trace.ts';
import { BadRowError, NewerFormatError } from '../errors.ts';
import type { Job, JobCore, LeaseEntry, OperatorAct, PastClaim } from '../job.ts';
import type { Row } from '../writes/row-write.ts';
import { isDataPointer, pointersOf } from './data-pointer.ts';

const CLAIM_ATTRIBUTES = Array.from({ length: CLAIM_RING_SIZE }, (_, slot) => claimAttribute(slot));

const ACT_ATTRIBUTES = Array.from({ length: ACT_RING_SIZE }, (_, slot) => actAttribute(slot));

/** Attributes that may hold what a producer or handler would not want to see in a log. */
const PRIVATE = new Set(['payload', 'checkpoint', 'progress', 'result', 'rawText']);

/** Reads attributes of a row that anybody may have edited; what is missing or of the wrong type is a BadRowError. */
class RowReader {
  readonly row: Row;
  readonly jobId: string;

  constructor(row: Row) {
    this.row = row;
    this.jobId = typeof row.jobId === 'string' ? row.jobId : '(no jobId)';
  }

  fail(attribute: string, wanted: string): never {
    const value = this.row[attribute];
    throw new BadRowError(
      this.jobId,
      value === undefined
        ? `'${attribute}' is missing`
        : `'${attribute}' is ${PRIVATE.has(attribute) ? 'something else' : shown(value)}; it must be ${wanted}`,
    );
  }

  text(attribute: string): string {
    const value = this.row[attribute];
    return typeof value === 'string' ? value : this.fail(attribute, 'a string');
  }

  number(attribute: string): number {
    const value = this.row[attribute];
    return Number.isSafeInteger(value) ? (value as number) : this.fail(attribute, 'a whole number');
  }

  /** Where an old or foreign row lacks the attribute, the default; a wrong type is still refused. */
  numberOr(attribute: string, otherwise: number): number {
    return this.row[attribute] === undefined ? otherwise : this.number(attribute);
  }

  optionalText(attribute: string): string | undefined {
    const value = this.row[attribute];
    if (isDataPointer(value)) return value.head;
    return value === undefined ? undefined : this.text(attribute);
  }

  optionalNumber(attribute: string): number | undefined {
    return this.row[attribute] === undefined ? undefined : this.number(attribute);
  }

  optionalJson(attribute: string): JsonValue | undefined {
    const text = this.optionalText(attribute);
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text) as JsonValue;
    } catch {
      return this.fail(attribute, 'JSON text');
    }
  }
}

/** With its type, because a number kept as a string looks right otherwise. */
const shown = (value: unknown): string => `${quoted(value)} (${value === null ? 'null' : typeof value})`;

/** The row as a job, or a BadRowError that names the attribute. */
export function parseJob(row: Row): Job {
  if (isNewer(row)) throw newerFormat(row);
  const read = new RowReader(row);
  const core = parseCore(read);
  const status = read.text('status');
  const optional = defined({
    leaseOwner: read.optionalText('leaseOwner'),
    startedAt: read.optionalNumber('startedAt'),
  });
  switch (status) {
    case 'pending':
      return {
        ...core,
        ...optional,
        status,
        leaseUntil: read.number('leaseUntil'),
        notBefore: read.numberOr('notBefore', 0),
        dispatches: read.numberOr('dispatches', 0),
      };
    case 'running':
      return {
        ...core,
        status,
        leaseOwner: read.text('leaseOwner'),
        leaseUntil: read.number('leaseUntil'),
        startedAt: read.number('startedAt'),
        heartbeatAt: read.numberOr('heartbeatAt', read.number('startedAt')),
      };
    case 'done':
      return {
        ...core,
        ...optional,
        ...parseEnd(read),
        status,
        ...defined({ result: read.optionalJson('result') }),
      };
    case 'failed':
      return { ...core, ...optional, ...parseEnd(read), status, ...parseRawMessage(read) };
    case 'cancelled':
      return { ...core, ...optional, ...parseEnd(read), status };
    default:
      return read.fail('status', 'one of pending, running, done, failed, cancelled');
  }
}

/** A row that a newer version wrote is left alone: what it means may have changed. */
export const isNewer = (row: Row): boolean => typeof row.format === 'number' && row.format > ROW_FORMAT;

export const newerFormat = (row: Row): NewerFormatError =>
  new NewerFormatError(String(row.jobId), Number(row.format), ROW_FORMAT);

/** An entry of the lease index, or a BadRowError: a sweep logs it, skips it, and goes on. */
export function parseLeaseEntry(row: Row): LeaseEntry {
  const read = new RowReader(row);
  const status = read.text('status');
  if (status !== 'pending' && status !== 'running')
    return read.fail('status', 'pending or running while the row has a lease');
  return {
    jobId: read.text('jobId'),
    type: read.text('type'),
    status,
    leaseShard: read.text('leaseShard'),
    leaseUntil: read.number('leaseUntil'),
    leaseMs: read.number('leaseMs'),
    attempt: read.number('attempt'),
    errors: read.number('errors'),
    crashes: read.number('crashes'),
    releases: read.number('releases'),
    maxAttempts: read.number('maxAttempts'),
    maxCrashes: read.number('maxCrashes'),
    notBefore: read.numberOr('notBefore', 0),
    dispatches: read.numberOr('dispatches', 0),
    cancelRequested: row.cancelRequested === true,
    ...defined({
      leaseOwner: read.optionalText('leaseOwner'),
      startedAt: read.optionalNumber('startedAt'),
    }),
  };
}

function parseCore(read: RowReader): JobCore {
  return {
    jobId: read.text('jobId'),
    type: read.text('type'),
    payload: isDataPointer(read.row.payload) ? '' : read.text('payload'),
    elsewhere: pointersOf(read.row).map(([name]) => name),
    attempt: read.number('attempt'),
    errors: read.number('errors'),
    crashes: read.number('crashes'),
    releases: read.number('releases'),
    maxAttempts: read.number('maxAttempts'),
    maxCrashes: read.number('maxCrashes'),
    leaseMs: read.number('leaseMs'),
    leaseShard: read.text('leaseShard'),
    createdAt: read.number('createdAt'),
    changedBy: read.text('changedBy'),
    checkpointSeq: read.numberOr('checkpointSeq', 0),
    cancelRequested: read.row.cancelRequested === true,
    claims: parseClaims(read.row),
    acts: parseActs(read.row),
    acted: read.numberOr('acted', 0),
    ...defined({
      checkpoint: read.optionalJson('checkpoint'),
      progress: read.optionalJson('progress'),
      lastError: read.optionalText('lastError'),
      trace: traceOf({ traceparent: read.row.traceparent, awsTraceHeader: read.row.awsTraceHeader }),
    }),
  };
}

const parseEnd = (read: RowReader) => ({
  finishedAt: read.number('finishedAt'),
  expiresAt: read.number('expiresAt'),
  ...defined({ notBefore: read.optionalNumber('notBefore') }),
});

function parseRawMessage(read: RowReader) {
  const text = read.optionalText('rawText');
  if (text === undefined) return {};
  return { rawMessage: { text, bytes: read.number('rawBytes'), sha256: read.text('rawSha256') } };
}

/** The ring only informs: an entry that cannot be read is left out rather than making the job unreadable. */
function parseClaims(row: Row): readonly PastClaim[] {
  const claims = new Map(parseHistory(row.history).map((past) => [past.attempt, past]));
  for (const name of CLAIM_ATTRIBUTES) {
    const past = row[name];
    if (isPastClaim(past)) claims.set(past.attempt, past);
  }
  return [...claims.values()].sort((a, b) => a.attempt - b.attempt).slice(-CLAIM_RING_SIZE);
}

/** Claims whose entries were moved to a row of their own, where that was read. */
function parseHistory(history: unknown): readonly PastClaim[] {
  if (typeof history !== 'string') return [];
  try {
    const claims: unknown = JSON.parse(history);
    return Array.isArray(claims) ? claims.filter(isPastClaim) : [];
  } catch {
    return [];
  }
}

const isPastClaim = (value: unknown): value is PastClaim =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as PastClaim).attempt === 'number' &&
  typeof (value as PastClaim).owner === 'string' &&
  typeof (value as PastClaim).from === 'number' &&
  typeof (value as PastClaim).to === 'number' &&
  typeof (value as PastClaim).outcome === 'string';

function parseActs(row: Row): readonly OperatorAct[] {
  const acts = ACT_ATTRIBUTES.map((name) => row[name]).filter(isOperatorAct);
  return acts.sort((a, b) => a.at - b.at);
}

const isOperatorAct = (value: unknown): value is OperatorAct =>
  typeof value === 'object' &&
  value !== null &&
  typeof (value as OperatorAct).act === 'string' &&
  typeof (value as OperatorAct).by === 'string' &&
  typeof (value as OperatorAct).at === 'number';
