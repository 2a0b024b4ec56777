import type { LeaseEntry } from '../protocol/job.ts';
import { isDataPointer } from '../protocol/rows/data-pointer.ts';
import { allShards } from '../protocol/shards.ts';
import { allFailures, type FailureEntry } from '../protocol/store/all-failures.ts';
import { allLeases } from '../protocol/store/all-leases.ts';
import type { Place } from '../protocol/store/merged-shards.ts';
import type { Row } from '../protocol/writes/row-write.ts';
import { lastBeatAt } from '../settings/lease-length.ts';
import { isQuarantined } from '../tools/inspect/timeline.ts';
import { shortWorkerOf, workerOf } from '../tools/inspect/worker-name.ts';
import type { ClientParts } from './client-parts.ts';
import { decodeKey, decodePlace, encodeKey, encodePlace } from './cursor.ts';
import { BadRequestError, ScanNeededError } from './errors.ts';
import { OLD_SHARD, oldFailures } from './old-failures.ts';
import { scanCostOf } from './scan-cost.ts';

/** A job as a listing shows it, from whichever index or scan it came. */
export interface ListedJob {
  readonly jobId: string;
  readonly type: string;
  readonly status: string;
  /** Failed, because its workers died too often. */
  readonly quarantined?: boolean;
  readonly attempt: number;
  readonly owner?: string;
  /** When it got into this status, as far as the source tells. */
  readonly since?: number;
  /** Why it failed, or what went wrong last. Not told of a job that is done. */
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

export const listStatuses = [
  ...['unfinished', 'pending', 'running'],
  ...['failed', 'quarantined', 'done', 'cancelled'],
] as const;

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
/** So many entries of the index are half a read unit, the least that a query costs. */
const CHEAPEST_PAGE = 10;

/** Entries to read of each shard at a time: where all are shown, each shard has its share of them. */
const pageSizeFor = ({ limit, types, owner, before }: ListRequest, shards: number): number => {
  const isSifted = types !== undefined || owner !== undefined || before !== undefined;
  const wanted = isSifted ? limit + 1 : Math.max(CHEAPEST_PAGE, Math.ceil((2 * (limit + 1)) / shards));
  return Math.min(PAGE, wanted);
};

const matches = (job: ListedJob, request: ListRequest): boolean =>
  (request.types === undefined || request.types.includes(job.type)) &&
  (request.owner === undefined || ownerMatches(job.owner, request.owner)) &&
  (request.before === undefined || (job.since !== undefined && job.since <= request.before));

/** A claim's whole owner, or the worker that made it: in full, or as a listing shows it, with its middle left out. */
function ownerMatches(owner: string | undefined, wanted: string): boolean {
  if (owner === undefined) return false;
  const [begins = '', ends = ''] = wanted.split('…', 2);
  const isMeant = (name: string) =>
    wanted.includes('…') ? name.startsWith(begins) && name.endsWith(ends) : name === wanted;
  return [owner, workerOf(owner), shortWorkerOf(owner)].some(isMeant);
}

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
    case 'quarantined': {
      const failed = { ...request, onlyQuarantined: status === 'quarantined' };
      return scan ? listByScan(parts, 'failed', failed) : listFailed(parts, failed);
    }
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
  let place = decodePlace(request.cursor);
  const leases = allLeases(parts.table, {
    shards: statuses.flatMap((status) => all[status]),
    pageSize: pageSizeFor(request, parts.settings.shards),
    from: place,
  });
  for await (const found of leases) {
    if (found.entry === undefined) {
      bad.push(found.bad.message);
      continue;
    }
    const job = listedLease(found.entry, parts);
    if (matches(job, request)) {
      // One more than asked for shows that there is more.
      if (jobs.length === request.limit) return { jobs, bad, looked, cursor: place && encodePlace(place) };
      jobs.push(job);
    }
    looked++;
    place = found.place;
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
export async function listFailed(parts: ListParts, request: FailedRequest): Promise<Listing> {
  const { table, settings } = parts;
  const found: FailureEntry[] = [];
  let looked = 0;
  let cursor: string | undefined;
  let place = decodePlace(request.cursor);
  const failures = allFailures(table, {
    shards: settings.shards,
    pageSize: pageSizeFor(request, settings.shards),
    since: request.since,
    before: request.before,
    from: place,
  });
  for await (const { failure, place: reached } of failures) {
    if (isWanted(listedFailure(failure), request)) {
      if (found.length === request.limit) {
        cursor = place && encodePlace(place);
        break;
      }
      found.push(failure);
    }
    looked++;
    place = reached;
  }
  const rows = await table.readMany(found.map(({ jobId }) => jobId));
  const jobs = found.map((failure, i) => listedFailure(failure, rows[i]));
  if (cursor !== undefined) return { jobs, bad: [], looked, cursor };
  const older = await listOldFailures(parts, { ...request, limit: request.limit - jobs.length }, place);
  return { ...older, jobs: [...jobs, ...older.jobs], looked: looked + older.looked };
}

type FailedRequest = ListRequest & { readonly since?: number; readonly onlyQuarantined?: boolean };

const isWanted = (job: ListedJob, request: FailedRequest): boolean =>
  matches(job, request) &&
  (request.since === undefined || (job.since ?? 0) >= request.since) &&
  (request.onlyQuarantined !== true || job.quarantined === true);

/** Those of version 0.1, which failed before any that this version has put into the index. */
async function listOldFailures(parts: ListParts, request: FailedRequest, reached?: Place): Promise<Listing> {
  const { rows, untold } = await oldFailures(parts, decodePlace(request.cursor));
  const wanted = rows.map(listedRow).filter((job) => isWanted(job, request));
  const jobs = wanted.slice(0, request.limit);
  const last = jobs.at(-1);
  const place = last === undefined ? reached : { at: last.since ?? 0, upTo: { [OLD_SHARD]: last.jobId } };
  const cursor = wanted.length > jobs.length && place !== undefined ? encodePlace(place) : undefined;
  return { jobs, bad: untold === undefined ? [] : [untold], looked: rows.length, cursor };
}

const listedFailure = (failure: FailureEntry, row?: Row): ListedJob => ({
  jobId: failure.jobId,
  type: failure.type,
  status: 'failed',
  quarantined: isQuarantined(failure),
  attempt: failure.attempt,
  owner: failure.leaseOwner,
  since: failure.failedAt,
  lastError: row && listedRow(row).lastError,
});

/** Jobs by a scan of the whole table: the only way to those that are in no index. */
async function listByScan(
  parts: ListParts,
  status: string,
  request: ListRequest & { readonly onlyQuarantined?: boolean },
): Promise<Listing> {
  let key = decodeKey(request.cursor);
  const jobs: ListedJob[] = [];
  let looked = 0;
  do {
    const page = await parts.inspection.scan({ status, cursor: key });
    for (const row of page.rows) {
      const job = listedRow(row);
      if (matches(job, request) && (job.quarantined === true || request.onlyQuarantined !== true)) {
        if (jobs.length === request.limit)
          return { jobs, bad: [], looked, cursor: key && encodeKey(key.jobId) };
        jobs.push(job);
      }
      looked++;
      key = { jobId: String(row.jobId) };
    }
    key = page.cursor === undefined ? undefined : { jobId: String(page.cursor.jobId) };
  } while (key !== undefined);
  return { jobs, bad: [], looked };
}

/** Of an error that is kept elsewhere, its beginning. */
const errorIn = (kept: unknown): string | undefined =>
  isDataPointer(kept) ? kept.head : typeof kept === 'string' ? kept : undefined;

/** Reads leniently: a listing shows what is there, `doctor` judges it. */
function listedRow(row: Row): ListedJob {
  const text = (name: string) => (typeof row[name] === 'string' ? (row[name] as string) : undefined);
  const number = (name: string) => (typeof row[name] === 'number' ? (row[name] as number) : undefined);
  const status = text('status') ?? '?';
  const { crashes = 0, maxCrashes = Number.POSITIVE_INFINITY } = {
    crashes: number('crashes'),
    maxCrashes: number('maxCrashes'),
  };
  return {
    jobId: text('jobId') ?? '(no jobId)',
    type: text('type') ?? '?',
    status,
    quarantined: status === 'failed' ? isQuarantined({ crashes, maxCrashes }) : undefined,
    attempt: number('attempt') ?? 0,
    owner: text('leaseOwner'),
    since: number('finishedAt') ?? number('startedAt') ?? number('createdAt'),
    lastError: status === 'done' ? undefined : errorIn(row.lastError),
  };
}
