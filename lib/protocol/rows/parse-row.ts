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
import type { Job, JobCore, LeaseEntry, OperatorAct, PastClaim, TypeLimits } from '../job.ts';
import type { Row } from '../writes/row-write.ts';
import { isDataPointer, isObject, pointersOf } from './data-pointer.ts';

const CLAIM_ATTRIBUTES = Array.from({ length: CLAIM_RING_SIZE }, (_, slot) => claimAttribute(slot));

const ACT_ATTRIBUTES = Array.from({ length: ACT_RING_SIZE }, (_, slot) => actAttribute(slot));

/** Never shown in errors and logs. */
const PRIVATE = new Set(['payload', 'checkpoint', 'progress', 'result', 'rawText']);

class RowReader {
  readonly row: Row;
  readonly jobId: string;

  constructor(row: Row) {
    this.row = row;
    this.jobId = typeof row.jobId === 'string' ? row.jobId : '(no jobId)';
  }

  fail(attribute: string, wanted: string): never {
    throw this.error(attribute, wanted);
  }

  error(attribute: string, wanted: string): BadRowError {
    const value = this.row[attribute];
    return new BadRowError(
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

/** Includes the type, because a number stored as a string looks right otherwise. */
const shown = (value: unknown): string => `${quoted(value)} (${value === null ? 'null' : typeof value})`;

export function parseJob(row: Row): Job {
  const problem = formatProblem(row);
  if (problem !== undefined) throw problem;
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
        ...parseOptionalTypeLimits(read),
        ...optional,
        status,
        leaseUntil: read.number('leaseUntil'),
        notBefore: read.number('notBefore'),
        dispatches: read.number('dispatches'),
        ...defined({
          waitsFor: read.optionalText('waitsFor'),
          waitsSince: read.optionalNumber('waitsSince'),
        }),
      };
    case 'running':
      return {
        ...core,
        ...parseTypeLimits(read),
        status,
        leaseOwner: read.text('leaseOwner'),
        leaseUntil: read.number('leaseUntil'),
        startedAt: read.number('startedAt'),
        heartbeatAt: read.number('heartbeatAt'),
      };
    case 'done':
      return {
        ...core,
        ...parseTypeLimits(read),
        ...optional,
        ...parseEnd(read),
        status,
        ...defined({ result: read.optionalJson('result') }),
      };
    case 'failed':
      return {
        ...core,
        ...parseTypeLimits(read),
        ...optional,
        ...parseEnd(read),
        status,
        ...parseRawMessage(read),
      };
    case 'cancelled':
      return { ...core, ...parseOptionalTypeLimits(read), ...optional, ...parseEnd(read), status };
    default:
      return read.fail('status', 'one of pending, running, done, failed, cancelled');
  }
}

export const isNewer = (row: Row): boolean => typeof row.format === 'number' && row.format > ROW_FORMAT;

export function formatProblem(row: Row): NewerFormatError | BadRowError | undefined {
  if (row.format === ROW_FORMAT) return undefined;
  return isNewer(row)
    ? new NewerFormatError(String(row.jobId), Number(row.format), ROW_FORMAT)
    : new RowReader(row).error('format', String(ROW_FORMAT));
}

/** A sweep logs and skips a BadRowError. */
export function parseLeaseEntry(row: Row): LeaseEntry {
  const read = new RowReader(row);
  const status = read.text('status');
  if (status !== 'pending' && status !== 'running')
    return read.fail('status', 'pending or running while the row has a lease');
  const core = {
    ...parseIdentity(read),
    leaseUntil: read.number('leaseUntil'),
    notBefore: read.optionalNumber('notBefore') ?? 0,
    dispatches: read.optionalNumber('dispatches') ?? 0,
    ...defined({ leaseOwner: read.optionalText('leaseOwner'), startedAt: read.optionalNumber('startedAt') }),
  };
  return status === 'running'
    ? { ...core, status, ...parseTypeLimits(read) }
    : {
        ...core,
        status,
        ...parseOptionalTypeLimits(read),
        ...defined({ waitsFor: read.optionalText('waitsFor') }),
      };
}

const parseTypeLimits = (read: RowReader): TypeLimits => ({
  leaseMs: read.number('leaseMs'),
  maxAttempts: read.number('maxAttempts'),
  maxCrashes: read.number('maxCrashes'),
});

const parseOptionalTypeLimits = (read: RowReader): Partial<TypeLimits> =>
  defined({
    leaseMs: read.optionalNumber('leaseMs'),
    maxAttempts: read.optionalNumber('maxAttempts'),
    maxCrashes: read.optionalNumber('maxCrashes'),
  });

const parseIdentity = (read: RowReader) => ({
  jobId: read.text('jobId'),
  type: read.text('type'),
  leaseShard: read.text('leaseShard'),
  attempt: read.number('attempt'),
  errors: read.number('errors'),
  crashes: read.number('crashes'),
  lapses: read.number('lapses'),
  releases: read.number('releases'),
  cancelRequested: read.row.cancelRequested === true,
  ...defined({ key: read.optionalText('key'), group: read.optionalText('group') }),
});

function parseCore(read: RowReader): JobCore {
  return {
    ...parseIdentity(read),
    payload: isDataPointer(read.row.payload) ? '' : read.text('payload'),
    externalFields: pointersOf(read.row).map(([name]) => name),
    createdAt: read.number('createdAt'),
    changedBy: read.text('changedBy'),
    checkpointSeq: read.number('checkpointSeq'),
    claims: parseClaims(read.row),
    acts: parseActs(read.row),
    acted: read.optionalNumber('acted') ?? 0,
    ...defined({
      lateAt: read.optionalNumber('lateAt'),
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

/** History is informational, so unreadable entries are skipped. */
const ringIn = <T>(row: Row, names: readonly string[], isEntry: (value: Row) => boolean): T[] =>
  names.map((name) => row[name]).filter((value): value is T => isObject(value) && isEntry(value));

const parseClaims = (row: Row): readonly PastClaim[] =>
  ringIn<PastClaim>(
    row,
    CLAIM_ATTRIBUTES,
    ({ attempt, owner, from, to, outcome }) =>
      [attempt, from, to].every((each) => typeof each === 'number') &&
      [owner, outcome].every((each) => typeof each === 'string'),
  ).sort((a, b) => a.attempt - b.attempt);

const parseActs = (row: Row): readonly OperatorAct[] =>
  ringIn<OperatorAct>(
    row,
    ACT_ATTRIBUTES,
    ({ act, by, at }) => typeof act === 'string' && typeof by === 'string' && typeof at === 'number',
  ).sort((a, b) => a.at - b.at);
