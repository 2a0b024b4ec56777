import type { Settings } from '../../settings/settings.ts';
import type { JsonValue } from '../../wire/message.ts';
import { BAD_MESSAGE_PREFIX, ROW_FORMAT } from '../../wire/table.ts';
import type { Dispatch } from '../decisions/dispatch.ts';
import { isDataPointer, storedValue } from '../rows/data-pointer.ts';
import { absent, equal } from './clauses.ts';
import type { Clause, Row, RowWrite } from './row-write.ts';
import {
  failedAttributes,
  finishedAttributes,
  pendingAttributes,
  WAITING,
  type WriteContext,
} from './worker-writes.ts';

/** Each write applies only to a row unchanged since the scan; the status fences a live worker. */

const FENCE = ['status', 'attempt', 'leaseUntil', 'changedBy'] as const;

function asScanned(row: Row, attributes: readonly string[]): readonly Clause[] {
  return attributes.map((attribute): Clause => {
    const value = row[attribute];
    if (value === undefined) return absent(attribute);
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      return equal(attribute, value);
    return { attribute, is: 'present' };
  });
}

const unchanged = (
  row: Row,
  write: Pick<RowWrite, 'transition' | 'set' | 'remove'>,
  alsoAsScanned: readonly string[],
  { changedBy }: WriteContext,
): RowWrite => ({
  jobId: String(row.jobId),
  when: [asScanned(row, [...new Set([...FENCE, ...alsoAsScanned])])],
  returns: 'nothing',
  ...write,
  set: { ...write.set, changedBy },
});

export const repairWrite = (
  row: Row,
  set: Readonly<Record<string, string | number>>,
  context: WriteContext,
  remove?: readonly string[],
): RowWrite => unchanged(row, { transition: 'repair', set, remove }, Object.keys(set), context);

export const repairToPendingWrite = (row: Row, dispatch: Dispatch, context: WriteContext): RowWrite =>
  unchanged(
    row,
    { transition: 'repairToPending', set: pendingAttributes(String(row.jobId), dispatch, context.shards) },
    ['leaseShard', 'leaseOwner'],
    context,
  );

/** Indexes a failed row; removes any other finished row from the index. */
export const placeInIndexWrite = (row: Row, context: WriteContext): RowWrite =>
  row.status === 'failed'
    ? repairWrite(row, failedPlace(row, context.shards), context)
    : repairWrite(row, {}, context, ['leaseUntil']);

const failedPlace = (row: Row, shards: number) =>
  failedAttributes(String(row.jobId).replace(BAD_MESSAGE_PREFIX, ''), Number(row.finishedAt), shards);

/** Makes an unrepairable row readable as failed, and keeps its contents. */
export function repairByFailingWrite(
  row: Row,
  why: string,
  defaults: Pick<Settings, 'maxAttempts' | 'maxCrashes' | 'leaseMs'>,
  context: WriteContext,
): RowWrite {
  const number = (name: string, otherwise: number) =>
    Number.isFinite(row[name]) ? (row[name] as number) : otherwise;
  const text = (name: string, otherwise: string) =>
    typeof row[name] === 'string' ? (row[name] as string) : otherwise;
  const { now, shards } = context;
  const set: Record<string, JsonValue> = {
    status: 'failed',
    type: text('type', 'leasehold.unreadable'),
    payload: isDataPointer(row.payload) ? storedValue(row.payload) : text('payload', 'null'),
    lastError: `failed by doctor: ${why}`,
    ...Object.fromEntries(
      ['attempt', 'errors', 'crashes', 'lapses', 'releases', 'checkpointSeq'].map((name) => [
        name,
        number(name, 0),
      ]),
    ),
    maxAttempts: number('maxAttempts', defaults.maxAttempts),
    maxCrashes: number('maxCrashes', defaults.maxCrashes),
    leaseMs: number('leaseMs', defaults.leaseMs),
    createdAt: number('createdAt', now),
    format: ROW_FORMAT,
    ...failedAttributes(String(row.jobId).replace(BAD_MESSAGE_PREFIX, ''), now, shards),
    ...finishedAttributes(context),
    cancelRequested: false,
  };
  // Optional attributes of the wrong type would keep the row unreadable; `lastError` names the cause.
  const remove = [
    ...['checkpoint', 'progress', 'leaseOwner', 'startedAt', 'rawText', 'key', 'lateAt', 'group'].filter(
      (name) => row[name] !== undefined && !isFine(name, row[name]),
    ),
    ...WAITING.filter((name) => row[name] !== undefined),
  ];
  return unchanged(row, { transition: 'repairByFailing', set, remove }, [], context);
}

function isFine(name: string, value: unknown): boolean {
  if (isDataPointer(value)) return true;
  if (name === 'startedAt' || name === 'lateAt') return typeof value === 'number';
  if (typeof value !== 'string') return false;
  if (name !== 'checkpoint' && name !== 'progress') return true;
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}
