import type { LeaseEntry } from '../protocol/job.ts';
import type { Cursor } from '../protocol/ports.ts';
import { isDataPointer } from '../protocol/rows/data-pointer.ts';
import { allShards } from '../protocol/shards.ts';
import { allFailures } from '../protocol/store/all-failures.ts';
import { allLeases } from '../protocol/store/all-leases.ts';
import type { Place } from '../protocol/store/merged-shards.ts';
import type { Row } from '../protocol/writes/row-write.ts';
import { lastBeatAt } from '../settings/heartbeat-timing.ts';
import { isQuarantined } from '../tools/inspect/timeline.ts';
import { shortWorkerOf, workerOf } from '../tools/inspect/worker-name.ts';
import type { ClientParts } from './client-parts.ts';
import { decodeKey, decodePlace, encodeKey, encodePlace } from './cursor.ts';
import { BadRequestError, ScanNeededError } from './errors.ts';
import { scanCostOf } from './scan-cost.ts';

/** A job in a listing. */
export interface ListedJob {
  readonly jobId: string;
  readonly type: string;
  readonly status: string;
  /** Failed because its workers died too often. */
  readonly quarantined?: boolean;
  readonly attempt: number;
  readonly owner?: string;
  readonly key?: string;
  /** What a parked job waits for: `limit:<type>[:<key>]` or `pause:<type>:<part>`. */
  readonly waitsFor?: string;
  /** When it entered this status, if known. */
  readonly since?: number;
  /** Why it failed, or its latest error. Absent for done jobs. */
  readonly lastError?: string;
  readonly lease?: LeaseEntry;
}

/** One page of jobs and a cursor for the next. */
export interface Listing {
  readonly jobs: readonly ListedJob[];
  readonly cursor?: string;
  /** Unreadable rows. */
  readonly bad: readonly string[];
  /** Number of entries read. */
  readonly looked: number;
}

export const listStatuses = [
  'unfinished',
  'pending',
  'running',
  'failed',
  'quarantined',
  'done',
  'cancelled',
] as const;

export interface ListRequest {
  readonly limit: number;
  readonly types?: readonly string[];
  readonly owner?: string;
  /** Only jobs that wait for a limit or a paused type. */
  readonly parked?: boolean;
  /** Only jobs with this key; for pending and running ones. */
  readonly key?: string;
  /** Only jobs in their status since this time or longer. */
  readonly before?: number;
  readonly cursor?: string;
}

type FailedRequest = ListRequest & { readonly since?: number; readonly onlyQuarantined?: boolean };

type ListStatus = (typeof listStatuses)[number];
type ListParts = Pick<ClientParts, 'table' | 'settings' | 'inspection'>;

const PAGE = 200;
/** Half a read unit, the least that a query costs. */
const CHEAPEST_PAGE = 10;

const pageSizeFor = ({ limit, types, owner, before, parked, key }: ListRequest, shards: number): number => {
  const isSifted = [types, owner, before, parked, key].some((filter) => filter !== undefined);
  const wanted = isSifted ? limit + 1 : Math.max(CHEAPEST_PAGE, Math.ceil((2 * (limit + 1)) / shards));
  return Math.min(PAGE, wanted);
};

const isWanted = (job: ListedJob, request: FailedRequest): boolean =>
  (request.types === undefined || request.types.includes(job.type)) &&
  (request.parked !== true || job.waitsFor !== undefined) &&
  (request.key === undefined || job.key === request.key) &&
  (request.owner === undefined || ownerMatches(job.owner, request.owner)) &&
  (request.before === undefined || (job.since !== undefined && job.since <= request.before)) &&
  (request.since === undefined || (job.since ?? 0) >= request.since) &&
  (request.onlyQuarantined !== true || job.quarantined === true);

/** A whole owner, or a worker in full or abbreviated as in listings. */
function ownerMatches(owner: string | undefined, wanted: string): boolean {
  if (owner === undefined) return false;
  const [begins = '', ends = ''] = wanted.split('…', 2);
  const isMeant = (name: string) =>
    wanted.includes('…') ? name.startsWith(begins) && name.endsWith(ends) : name === wanted;
  return [owner, workerOf(owner), shortWorkerOf(owner)].some(isMeant);
}

export const MAX_LISTED = 10_000;

/** Done and cancelled jobs are in no index, so they need an explicit scan. */
export async function listJobs(
  parts: ListParts,
  given: ListRequest & { readonly status: ListStatus; readonly scan?: boolean },
): Promise<Listing> {
  const { status, scan = false, ...request } = given;
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

interface Candidate<At> {
  readonly job: ListedJob;
  readonly at: At | undefined;
}

async function take<At>(
  candidates: AsyncIterable<Candidate<At>>,
  request: FailedRequest,
  encode: (at: At) => string,
): Promise<Omit<Listing, 'bad'>> {
  const jobs: ListedJob[] = [];
  let looked = 0;
  for await (const { job, at } of candidates) {
    if (isWanted(job, request)) {
      // One extra entry shows that there are more.
      if (jobs.length === request.limit) return { jobs, looked, cursor: at && encode(at) };
      jobs.push(job);
    }
    looked++;
  }
  return { jobs, looked };
}

async function listUnfinished(
  { table, settings }: ListParts,
  statuses: readonly ('pending' | 'running')[],
  request: ListRequest,
): Promise<Listing> {
  const all = allShards(settings.shards);
  const bad: string[] = [];
  async function* candidates(): AsyncGenerator<Candidate<Place>> {
    let at = decodePlace(request.cursor);
    const shards = statuses.flatMap((status) => all[status]);
    const pageSize = pageSizeFor(request, settings.shards);
    for await (const found of allLeases(table, { shards, pageSize, from: at })) {
      if (found.entry === undefined) bad.push(found.bad.message);
      else {
        yield { job: listedLease(found.entry), at };
        at = found.place;
      }
    }
  }
  return { ...(await take(candidates(), request, encodePlace)), bad };
}

function listedLease(lease: LeaseEntry): ListedJob {
  const { jobId, type, status, attempt, key, leaseOwner: owner } = lease;
  const waitsFor = lease.status === 'pending' ? lease.waitsFor : undefined;
  const since = lease.status === 'running' ? (lease.startedAt ?? lastBeatAt(lease)) : lease.notBefore;
  return { jobId, type, status, attempt, key, waitsFor, since, lease, owner };
}

/** Newest first. Entries that filters skip are still read; errors come from the rows, 100 per request. */
export async function listFailed({ table, settings }: ListParts, request: FailedRequest): Promise<Listing> {
  const { since, before } = request;
  const range = { shards: settings.shards, pageSize: pageSizeFor(request, settings.shards), since, before };
  async function* candidates(): AsyncGenerator<Candidate<Place>> {
    let at = decodePlace(request.cursor);
    for await (const { failure, place } of allFailures(table, { ...range, from: at })) {
      yield { job: { ...listedRow(failure.row), since: failure.failedAt }, at };
      at = place;
    }
  }
  const found = await take(candidates(), request, encodePlace);
  const rows = await table.readMany(found.jobs.map(({ jobId }) => jobId));
  const jobs = found.jobs.map((job, i) => ({ ...job, lastError: listedRow(rows[i] ?? {}).lastError }));
  return { ...found, jobs, bad: [] };
}

async function listByScan(
  { inspection }: ListParts,
  status: string,
  request: FailedRequest,
): Promise<Listing> {
  async function* candidates(): AsyncGenerator<Candidate<Cursor>> {
    let at: Cursor | undefined = decodeKey(request.cursor);
    do {
      const page = await inspection.scan({ status, cursor: at });
      for (const row of page.rows) {
        yield { job: listedRow(row), at };
        at = { jobId: row.jobId };
      }
      at = page.cursor;
    } while (at !== undefined);
  }
  return { ...(await take(candidates(), request, ({ jobId }) => encodeKey(String(jobId)))), bad: [] };
}

/** Only the beginning, if the rest is in a data row. */
const errorIn = (kept: unknown): string | undefined =>
  isDataPointer(kept) ? kept.head : typeof kept === 'string' ? kept : undefined;

/** Lenient, because `doctor` reports bad rows. */
function listedRow(row: Row): ListedJob {
  const text = (name: string) => (typeof row[name] === 'string' ? (row[name] as string) : undefined);
  const number = (name: string) => (typeof row[name] === 'number' ? (row[name] as number) : undefined);
  const status = text('status') ?? '?';
  const counts = {
    crashes: number('crashes') ?? 0,
    maxCrashes: number('maxCrashes') ?? Number.POSITIVE_INFINITY,
    lapses: number('lapses') ?? 0,
    maxAttempts: number('maxAttempts') ?? Number.POSITIVE_INFINITY,
  };
  return {
    jobId: text('jobId') ?? '(no jobId)',
    type: text('type') ?? '?',
    status,
    quarantined: status === 'failed' ? isQuarantined(counts) : undefined,
    attempt: number('attempt') ?? 0,
    owner: text('leaseOwner'),
    since: number('finishedAt') ?? number('startedAt') ?? number('createdAt'),
    lastError: status === 'done' ? undefined : errorIn(row.lastError),
  };
}
