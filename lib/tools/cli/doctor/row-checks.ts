import { BadRowError } from '../../../protocol/errors.ts';
import { isNewer, parseJob } from '../../../protocol/rows/parse-row.ts';
import { allShards } from '../../../protocol/shards.ts';
import type { Row } from '../../../protocol/writes/row-write.ts';
import { MAX_DELAY_MS, MAX_LEASE_MS, type Settings } from '../../../settings/settings.ts';
import { BAD_MESSAGE_PREFIX } from '../../../wire/table.ts';
import { formatDuration } from '../../inspect/format-duration.ts';
import { type Finding, problem, type Repair } from './check.ts';
import { failRepair, hintRepair, indexRepair, toPendingRepair } from './repairs.ts';

export interface RowContext {
  readonly now: number;
  readonly settings: Settings;
  readonly changedBy: () => string;
}

export type RowCheck = (row: Row, context: RowContext) => Finding | undefined;

const ownKeys = (row: Row): boolean => typeof row.jobId === 'string' && /[:#]/.test(row.jobId);
const isUnfinished = (row: Row): boolean => row.status === 'pending' || row.status === 'running';
const FINISHED: readonly unknown[] = ['done', 'failed', 'cancelled'];
const named = (row: Row): string => String(row.jobId);
const wrong = (row: Row, message: string, next: string, repair?: Repair): Finding => ({
  ...problem(message, next),
  jobId: named(row),
  repair,
});

/** Without a lease end or an owner, no worker can write it and no sweep finds it. */
const runningWithoutLease: RowCheck = (row, context) => {
  if (row.status !== 'running') return undefined;
  const lacks =
    typeof row.leaseUntil !== 'number'
      ? 'leaseUntil'
      : typeof row.leaseOwner !== 'string'
        ? 'leaseOwner'
        : undefined;
  if (lacks === undefined) return undefined;
  return wrong(
    row,
    `'${named(row)}' is running without a lease ('${lacks}' is missing or of the wrong type): it would never end`,
    'make it pending and send a hint',
    toPendingRepair(row, context),
  );
};

const unseenByTheIndex: RowCheck = (row, context) => {
  if (!isUnfinished(row) || runningWithoutLease(row, context) !== undefined) return undefined;
  const partitions = allShards(context.settings.shards)[row.status === 'running' ? 'running' : 'pending'];
  const message =
    typeof row.leaseUntil !== 'number'
      ? `'${named(row)}' is pending without 'leaseUntil': it is in no index`
      : typeof row.leaseShard !== 'string'
        ? `'${named(row)}' is ${row.status} without 'leaseShard': it is in no index`
        : partitions.includes(row.leaseShard)
          ? undefined
          : `'${named(row)}' is ${row.status} in partition '${row.leaseShard}', which no sweep reads for ${row.status} jobs (${partitions[0]} to ${partitions.at(-1)})`;
  if (message === undefined) return undefined;
  return wrong(
    row,
    message,
    'make it pending in its own partition and send a hint',
    toPendingRepair(row, context),
  );
};

const pendingWithoutDueHint: RowCheck = (row, context) => {
  const { settings, now } = context;
  if (row.status !== 'pending' || typeof row.leaseUntil !== 'number') return undefined;
  const notBefore = typeof row.notBefore === 'number' ? row.notBefore : 0;
  const latest = Math.max(now, notBefore) + settings.dispatchLeaseCapMs;
  if (row.leaseUntil <= latest) return undefined;
  return wrong(
    row,
    `'${named(row)}' is pending, but its next hint is due ${formatDuration(row.leaseUntil - Math.max(now, notBefore))} after it may run; at most ${formatDuration(settings.dispatchLeaseCapMs)} is allowed`,
    'send a hint when it is due',
    hintRepair(row, context, notBefore),
  );
};

const leasedForTooLong: RowCheck = (row, context) => {
  const { settings, now } = context;
  if (row.status !== 'running' || typeof row.leaseUntil !== 'number') return undefined;
  const leaseMs = typeof row.leaseMs === 'number' ? Math.min(row.leaseMs, MAX_LEASE_MS) : MAX_LEASE_MS;
  const longest = leaseMs + settings.skewMs;
  if (row.leaseUntil - now <= longest) return undefined;
  return wrong(
    row,
    `'${named(row)}' is leased for another ${formatDuration(row.leaseUntil - now)}; its lease is at most ${formatDuration(longest)} long. Its worker's clock is or was ahead, and no reaper looks at the job before then`,
    'make it pending and send a hint',
    toPendingRepair(row, context),
  );
};

const dueTooFarAhead: RowCheck = (row, { now }) => {
  if (row.status !== 'pending' || typeof row.notBefore !== 'number') return undefined;
  if (row.notBefore - now <= MAX_DELAY_MS) return undefined;
  return wrong(
    row,
    `'${named(row)}' is due in ${formatDuration(row.notBefore - now)}; a message may ask for ${formatDuration(MAX_DELAY_MS)} at most`,
    `cancel it with 'leasehold cancel ${named(row)}' and send the job again`,
  );
};

const finishedOutOfPlace: RowCheck = (row, context) => {
  if (row.status === 'failed') return failedOutOfPlace(row, context);
  if (!FINISHED.includes(row.status) || row.leaseUntil === undefined) return undefined;
  return wrong(
    row,
    `'${named(row)}' is ${String(row.status)} but still has 'leaseUntil': every sweep reads it needlessly`,
    "remove 'leaseUntil'",
    indexRepair(row, context),
  );
};

const failedOutOfPlace: RowCheck = (row, context) => {
  const isListed =
    typeof row.leaseUntil === 'number' &&
    allShards(context.settings.shards).failed.includes(String(row.leaseShard));
  if (isListed || typeof row.finishedAt !== 'number') return undefined;
  return wrong(
    row,
    `'${named(row)}' failed, but no list of failures shows it (${row.leaseUntil === undefined ? "no 'leaseUntil'" : `partition '${String(row.leaseShard)}'`})`,
    'put it among the failures',
    indexRepair(row, context),
  );
};

/** A job that is done or cancelled must not become one that can be revived. */
const unreadable: RowCheck = (row, context) => {
  if (runningWithoutLease(row, context) ?? unseenByTheIndex(row, context)) return undefined;
  try {
    parseJob(row);
    return undefined;
  } catch (error) {
    if (!(error instanceof BadRowError)) throw error;
    const hasEnded = row.status === 'done' || row.status === 'cancelled';
    return wrong(
      row,
      error.message.replace(/\. Run 'leasehold doctor.*$/, ''),
      hasEnded ? 'correct it by hand, or delete it' : 'fail it, and keep what it holds',
      hasEnded ? undefined : failRepair(row, error.message, context),
    );
  }
};

const ofNewerVersion: RowCheck = (row) =>
  isNewer(row)
    ? {
        severity: 'warning',
        jobId: named(row),
        message: `'${named(row)}' has format ${String(row.format)}, which this version does not know; it is left alone`,
        next: 'use the version that wrote it, or a newer one',
      }
    : undefined;

const ofKnownFormat =
  (check: RowCheck): RowCheck =>
  (row, context) =>
    isNewer(row) ? undefined : check(row, context);

export const rowChecks = {
  'rows that the index cannot see': ofKnownFormat(unseenByTheIndex),
  'running rows without a lease': ofKnownFormat(runningWithoutLease),
  'pending rows without a due hint': ofKnownFormat(pendingWithoutDueHint),
  'leases that are absurdly long': ofKnownFormat(leasedForTooLong),
  'due times absurdly far ahead': ofKnownFormat(dueTooFarAhead),
  'finished rows out of place': ofKnownFormat(finishedOutOfPlace),
  'attributes of the wrong type': ofKnownFormat(unreadable),
  'rows of a newer version': ofNewerVersion,
} satisfies Record<string, RowCheck>;

export const isJobRow = (row: Row): boolean =>
  !(ownKeys(row) && !String(row.jobId).startsWith(BAD_MESSAGE_PREFIX));
