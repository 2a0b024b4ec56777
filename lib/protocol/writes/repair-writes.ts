import type { Settings } from '../../settings/settings.ts';
import type { JsonValue } from '../../wire/message.ts';
import { BAD_MESSAGE_PREFIX, OLD_TERM } from '../../wire/table.ts';
import type { Dispatch } from '../decisions/dispatch.ts';
import { isDataPointer, storedValue } from '../rows/data-pointer.ts';
import type { Clause, Row, RowWrite } from './row-write.ts';
import {
  failedAttributes,
  finishedAttributes,
  pendingAttributes,
  type WriteContext,
} from './worker-writes.ts';

/**
 * The doctor's writes. They are conditional like every other: the attributes that they judge by and change must still be as
 * the scan saw them. So a job that moved on meanwhile is left alone, and a worker that is still alive is fenced by the status.
 */

const FENCE = ['status', 'attempt', 'leaseUntil', 'changedBy'] as const;

function asScanned(row: Row, attributes: readonly string[]): readonly Clause[] {
  return attributes.map((attribute): Clause => {
    const value = row[attribute];
    if (value === undefined) return { attribute, is: 'absent' };
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      return { attribute, is: 'equal', value };
    return { attribute, is: 'present' };
  });
}

const repair = (
  row: Row,
  write: Pick<RowWrite, 'transition' | 'set' | 'remove'>,
  judgedBy: readonly string[],
  { changedBy }: WriteContext,
): RowWrite => ({
  jobId: String(row.jobId),
  when: [asScanned(row, [...new Set([...FENCE, ...judgedBy])])],
  returns: 'nothing',
  ...write,
  set: { ...write.set, changedBy },
});

/** Every failure of version 0.1 is listed again. */
export const oldFailuresListedWrite = (reapers: Row): RowWrite => ({
  transition: 'oldFailuresListed',
  jobId: String(reapers.jobId),
  when: [asScanned(reapers, [OLD_TERM])],
  set: { oldFailures: 'listed' },
  remove: [OLD_TERM],
  returns: 'nothing',
});

/** Gives an unfinished row to the queue, from where any worker may claim it. */
export const repairToPendingWrite = (row: Row, dispatch: Dispatch, context: WriteContext): RowWrite =>
  repair(
    row,
    {
      transition: 'repairToPending',
      set: pendingAttributes(String(row.jobId), dispatch, context.shards),
    },
    ['leaseShard', 'leaseOwner'],
    context,
  );

/** Sets the time of the next hint anew. */
export const repairHintWrite = (row: Row, dispatch: Dispatch, context: WriteContext): RowWrite =>
  repair(
    row,
    {
      transition: 'repairHint',
      set: { leaseUntil: dispatch.leaseUntil, dispatches: dispatch.dispatches },
    },
    ['notBefore'],
    context,
  );

/** Puts a failed row in its place in the index, and takes any other finished row out of it. */
export const repairIndexWrite = (row: Row, context: WriteContext): RowWrite =>
  repair(
    row,
    {
      transition: 'repairIndex',
      ...(row.status === 'failed' ? failedPlace(row, context.shards) : { set: {}, remove: ['leaseUntil'] }),
    },
    ['leaseShard', 'finishedAt'],
    context,
  );

/** The place that the transition which failed the row would have given it. */
const failedPlace = (row: Row, shards: number): Pick<RowWrite, 'set' | 'remove'> => ({
  set: failedAttributes(String(row.jobId).replace(BAD_MESSAGE_PREFIX, ''), Number(row.finishedAt), shards),
  // The version before had an index on it.
  remove: ['failedAt'],
});

/** Sets attributes that were missing or of the wrong type. */
export const repairAttributesWrite = (
  row: Row,
  mended: Readonly<Record<string, string | number>>,
  context: WriteContext,
): RowWrite => repair(row, { transition: 'repairAttributes', set: mended }, Object.keys(mended), context);

/** Ends a row that cannot be mended, in a form that every reader can read; what it holds stays in it. */
export function repairByFailingWrite(
  row: Row,
  why: string,
  defaults: Pick<Settings, 'maxAttempts' | 'maxCrashes' | 'leaseMs'> & { readonly expiresAt: number },
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
      ['attempt', 'errors', 'crashes', 'releases', 'checkpointSeq'].map((name) => [name, number(name, 0)]),
    ),
    maxAttempts: number('maxAttempts', defaults.maxAttempts),
    maxCrashes: number('maxCrashes', defaults.maxCrashes),
    leaseMs: number('leaseMs', defaults.leaseMs),
    createdAt: number('createdAt', now),
    ...failedAttributes(String(row.jobId).replace(BAD_MESSAGE_PREFIX, ''), now, shards),
    ...finishedAttributes(now, defaults.expiresAt),
    cancelRequested: false,
  };
  // Optional attributes of the wrong type would keep the row unreadable; the cause is named in lastError.
  const remove = ['checkpoint', 'progress', 'leaseOwner', 'startedAt', 'rawText'].filter(
    (name) => row[name] !== undefined && !isFine(name, row[name]),
  );
  return repair(row, { transition: 'repairByFailing', set, remove }, [], context);
}

function isFine(name: string, value: unknown): boolean {
  if (isDataPointer(value)) return true;
  if (name === 'startedAt') return typeof value === 'number';
  if (typeof value !== 'string') return false;
  if (name !== 'checkpoint' && name !== 'progress') return true;
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}
