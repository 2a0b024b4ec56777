import { planDispatch } from '../../protocol/decisions/dispatch.ts';
import { pendingShard } from '../../protocol/shards.ts';
import type { Clause, Row, RowWrite } from '../../protocol/writes/row-write.ts';
import { pendingAttributes } from '../../protocol/writes/worker-writes.ts';
import type { JsonValue } from '../../wire/message.ts';
import { BAD_MESSAGE_PREFIX } from '../../wire/table.ts';
import type { Repair } from './check.ts';
import type { RowContext } from './row-checks.ts';

/**
 * Repairs are conditional like every other write: the attributes that they judge by and change must still be as the scan saw
 * them. So a job that moved on meanwhile is left alone, and a worker that is still alive is fenced by the status.
 */
function asSeen(row: Row, attributes: readonly string[]): readonly Clause[] {
  return attributes.map((attribute): Clause => {
    const value = row[attribute];
    if (value === undefined) return { attribute, is: 'absent' };
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean')
      return { attribute, is: 'equal', value };
    return { attribute, is: 'present' };
  });
}

const FENCE = ['status', 'attempt', 'leaseUntil', 'changedBy'] as const;

const repairWrite = (
  row: Row,
  change: Pick<RowWrite, 'set' | 'remove'>,
  judgedBy: readonly string[],
  { changedBy }: RowContext,
): RowWrite => ({
  transition: 'repair',
  jobId: String(row.jobId),
  when: [asSeen(row, [...new Set([...FENCE, ...judgedBy])])],
  returns: 'nothing',
  ...change,
  set: { ...change.set, changedBy: changedBy() },
});

/** Gives an unfinished row to the queue, from where any worker may claim it. */
export function toPendingRepair(row: Row, context: RowContext): Repair {
  const { now, settings } = context;
  const notBefore = row.status === 'pending' && typeof row.notBefore === 'number' ? row.notBefore : now;
  const dispatch = planDispatch(now, notBefore, settings);
  const set = pendingAttributes(String(row.jobId), dispatch, settings.shards);
  return { dispatch, write: repairWrite(row, { set }, ['leaseShard', 'leaseOwner'], context) };
}

/** Sets the time of the next hint anew. */
export function hintRepair(row: Row, context: RowContext, notBefore: number): Repair {
  const { now, settings } = context;
  const dispatch = planDispatch(now, notBefore, settings);
  const set = { leaseUntil: dispatch.leaseUntil, dispatches: dispatch.dispatches };
  return { dispatch, write: repairWrite(row, { set }, ['notBefore'], context) };
}

export const outOfIndexRepair = (row: Row, context: RowContext): Repair => ({
  write: repairWrite(row, { set: {}, remove: ['leaseUntil'] }, [], context),
});

export const mendRepair = (
  row: Row,
  mended: Readonly<Record<string, string | number>>,
  context: RowContext,
): Repair => ({ write: repairWrite(row, { set: mended }, Object.keys(mended), context) });

/** Ends a row that cannot be mended, in a form that every reader can read; what it holds stays in it. */
export function failRepair(row: Row, why: string, context: RowContext): Repair {
  const { now, settings } = context;
  const number = (name: string, otherwise: number) =>
    typeof row[name] === 'number' && Number.isFinite(row[name]) ? (row[name] as number) : otherwise;
  const text = (name: string, otherwise: string) =>
    typeof row[name] === 'string' ? (row[name] as string) : otherwise;
  const id = String(row.jobId);
  const set: Record<string, JsonValue> = {
    status: 'failed',
    type: text('type', 'leasehold.unreadable'),
    payload: text('payload', 'null'),
    leaseShard: text('leaseShard', pendingShard(id.replace(BAD_MESSAGE_PREFIX, ''), settings.shards)),
    lastError: `failed by doctor: ${why}`,
    ...Object.fromEntries(
      ['attempt', 'errors', 'crashes', 'releases', 'checkpointSeq'].map((name) => [name, number(name, 0)]),
    ),
    maxAttempts: number('maxAttempts', settings.maxAttempts),
    maxCrashes: number('maxCrashes', settings.maxCrashes),
    leaseMs: number('leaseMs', settings.leaseMs),
    createdAt: number('createdAt', now),
    failedAt: now,
    finishedAt: now,
    expiresAt: Math.ceil((now + settings.rowRetentionMs) / 1000),
    cancelRequested: false,
  };
  // Optional attributes of the wrong type would keep the row unreadable; the cause is named in lastError.
  const removable = ['leaseUntil', 'checkpoint', 'progress', 'leaseOwner', 'startedAt', 'rawText'].filter(
    (name) => name === 'leaseUntil' || (row[name] !== undefined && !isFine(name, row[name])),
  );
  return { write: repairWrite(row, { set, remove: removable }, [], context) };
}

function isFine(name: string, value: unknown): boolean {
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
