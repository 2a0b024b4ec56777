import { workerOf } from '../inspect/worker-name.ts';
import type { LeaseEntry } from '../protocol/job.ts';
import type { Cursor } from '../protocol/ports.ts';
import { allShards } from '../protocol/shards.ts';
import { allFailures, type FailureEntry } from '../protocol/store/all-failures.ts';
import { allLeases } from '../protocol/store/all-leases.ts';
import type { Positions } from '../protocol/store/merged-shards.ts';
import type { Row } from '../protocol/writes/row-write.ts';
import { lastBeatAt } from '../settings/lease-length.ts';
import type { ClientParts } from './client-parts.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import { BadRequestError, ScanNeededError } from './errors.ts';
import { scanCostOf } from './scan-cost.ts';

/** A job as a listing shows it, from whichever index or scan it came. */
export interface ListedJob {
  readonly jobId: string;
  readonly type: string;
  readonly status: string;
  readonly attempt: number;
  readonly owner?: string;
  /** When it got into this status, as far as the source tells. */
  readonly since?: number;
  readonly lastError?: string;
  readonly lease?: LeaseEntry;
}

/** One page of jobs, and where the next begins. */
export interface Listing {
  readonly jobs: readonly ListedJob[];
  readonly cursor?: string;
  /** Rows that could not be read. */
  readonly bad: readonly string[];
  /** Entries read to find these. */
  readonly looked: number;
}

export const listStatuses = ['unfinished', 'pending', 'running', 'failed', 'done', 'cancelled'] as const;

export interface ListRequest {
  readonly limit: number;
  readonly types?: readonly string[];
  readonly owner?: string;
  /** Only jobs that have been in their status since this instant or longer. */
  readonly before?: number;
  readonly cursor?: string;
}

type ListStatus = (typeof listStatuses)[number];
type ListParts = Pick<ClientParts, 'table' | 'settings' | 'inspection'>;

const PAGE = 200;

const matches = (job: ListedJob, request: ListRequest): boolean =>
  (request.types === undefined || request.types.includes(job.type)) &&
  (request.owner === undefined || ownerMatches(job.owner, request.owner)) &&
  (request.before === undefined || (job.since !== undefined && job.since <= request.before));

/** A claim's whole owner, or the worker that made it. */
const ownerMatches = (owner: string | undefined, wanted: string): boolean =>
  owner !== undefined && (owner === wanted || workerOf(owner) === wanted);

/** The most jobs of one listing. */
export const MAX_LISTED = 10_000;

/**
 * Jobs by status, from the index. Done and cancelled ones are in no index: they are found by a scan, which has to be asked for
 * and is refused with its price otherwise.
 */
export async function listJobs(
  parts: ListParts,
  {
    status,
    scan = false,
    ...request
  }: ListRequest & { readonly status: ListStatus; readonly scan?: boolean },
): Promise<Listing> {
  if (!listStatuses.includes(status))
    throw new BadRequestError('status', status, `one of ${listStatuses.join(', ')}`);
  if (!Number.isSafeInteger(request.limit) || request.limit < 1 || request.limit > MAX_LISTED)
    throw new BadRequestError('limit', request.limit, `a whole number from 1 to ${MAX_LISTED}`);
  switch (status) {
    case 'unfinished':
      return listUnfinished(parts, ['running', 'pending'], request);
    case 'pending':
    case 'running':
      return listUnfinished(parts, [status], request);
    case 'failed':
      return scan ? listByScan(parts, status, request) : listFailed(parts, request);
    case 'done':
    case 'cancelled':
      if (!scan) throw new ScanNeededError(status, await scanCostOf(parts));
      return listByScan(parts, status, request);
  }
}

/** Unfinished jobs, from the lease index, soonest lease end first. */
async function listUnfinished(
  parts: ListParts,
  statuses: readonly ('pending' | 'running')[],
  request: ListRequest,
): Promise<Listing> {
  const all = allShards(parts.settings.shards);
  const jobs: ListedJob[] = [];
  const bad: string[] = [];
  let looked = 0;
  let positions: Positions | undefined = decodeCursor<Positions>(request.cursor);
  const leases = allLeases(parts.table, {
    shards: statuses.flatMap((status) => all[status]),
    pageSize: Math.min(PAGE, request.limit + 1),
    positions,
  });
  for await (const found of leases) {
    if (found.entry === undefined) {
      bad.push(found.bad.message);
      continue;
    }
    const job = listedLease(found.entry, parts);
    if (matches(job, request)) {
      // One more than asked for shows that there is more.
      if (jobs.length === request.limit) return { jobs, bad, looked, cursor: encodeCursor(positions ?? {}) };
      jobs.push(job);
    }
    looked++;
    positions = found.positions;
  }
  return { jobs, bad, looked };
}

function listedLease(entry: LeaseEntry, { settings }: ListParts): ListedJob {
  const since =
    entry.status === 'running' ? (entry.startedAt ?? lastBeatAt(entry, settings)) : entry.notBefore;
  return {
    jobId: entry.jobId,
    type: entry.type,
    status: entry.status,
    attempt: entry.attempt,
    since,
    lease: entry,
    owner: entry.leaseOwner,
  };
}

/**
 * Failed jobs from the index, newest first. Choosing by type or owner passes over the others, whose entries are read as
 * well; the errors of those that are listed are in their rows, which are read 100 at a time.
 */
export async function listFailed(
  { table, settings }: Pick<ListParts, 'table' | 'settings'>,
  request: ListRequest & { readonly since?: number },
): Promise<Listing> {
  const found: FailureEntry[] = [];
  let looked = 0;
  let cursor: string | undefined;
  let positions = decodeCursor<Positions>(request.cursor);
  const failures = allFailures(table, {
    shards: settings.shards,
    pageSize: Math.min(PAGE, request.limit + 1),
    since: request.since,
    before: request.before,
    positions,
  });
  for await (const { failure, positions: reached } of failures) {
    if (matches(listedFailure(failure), request)) {
      if (found.length === request.limit) {
        cursor = encodeCursor(positions ?? {});
        break;
      }
      found.push(failure);
    }
    looked++;
    positions = reached;
  }
  const rows = await table.readMany(found.map(({ jobId }) => jobId));
  return { jobs: found.map((failure, i) => listedFailure(failure, rows[i])), bad: [], looked, cursor };
}

const listedFailure = (
  { jobId, type, attempt, failedAt, leaseOwner }: FailureEntry,
  row?: Row,
): ListedJob => ({
  jobId,
  type,
  status: 'failed',
  attempt,
  owner: leaseOwner,
  since: failedAt,
  lastError: row && listedRow(row).lastError,
});

/** Jobs by a scan of the whole table: the only way to those that are in no index. */
async function listByScan(parts: ListParts, status: string, request: ListRequest): Promise<Listing> {
  let cursor = decodeCursor<Cursor>(request.cursor);
  const jobs: ListedJob[] = [];
  let looked = 0;
  do {
    const page = await parts.inspection.scan({ status, cursor });
    for (const row of page.rows) {
      const job = listedRow(row);
      if (matches(job, request)) {
        if (jobs.length === request.limit)
          return { jobs, bad: [], looked, cursor: encodeCursor(cursor ?? {}) };
        jobs.push(job);
      }
      looked++;
      cursor = { jobId: row.jobId };
    }
    cursor = page.cursor;
  } while (cursor !== undefined);
  return { jobs, bad: [], looked };
}

/** Reads leniently: a listing shows what is there, `doctor` judges it. */
function listedRow(row: Row): ListedJob {
  const text = (name: string) => (typeof row[name] === 'string' ? (row[name] as string) : undefined);
  const number = (name: string) => (typeof row[name] === 'number' ? (row[name] as number) : undefined);
  const since = number('finishedAt') ?? number('startedAt') ?? number('createdAt');
  const owner = text('leaseOwner');
  const lastError = text('lastError');
  return {
    jobId: text('jobId') ?? '(no jobId)',
    type: text('type') ?? '?',
    status: text('status') ?? '?',
    attempt: number('attempt') ?? 0,
    owner,
    since,
    lastError,
  };
}
