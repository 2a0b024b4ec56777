import { workerOf } from '../inspect/worker-name.ts';
import type { LeaseEntry } from '../protocol/job.ts';
import type { Cursor } from '../protocol/ports.ts';
import { allShards } from '../protocol/shards.ts';
import { allLeases, type Positions } from '../protocol/store/all-leases.ts';
import type { Row } from '../protocol/writes/row-write.ts';
import { lastBeatAt } from '../settings/lease-length.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import type { System } from './system.ts';

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

export interface Listing {
  readonly jobs: readonly ListedJob[];
  readonly cursor?: string;
  /** Rows that could not be read. */
  readonly bad: readonly string[];
  /** Entries read to find these. */
  readonly looked: number;
}

export interface ListRequest {
  readonly limit: number;
  readonly types?: readonly string[];
  readonly owner?: string;
  /** Only jobs that have been in their status since this instant or longer. */
  readonly before?: number;
  readonly cursor?: string;
}

const PAGE = 200;

const matches = (job: ListedJob, request: ListRequest): boolean =>
  (request.types === undefined || request.types.includes(job.type)) &&
  (request.owner === undefined || ownerMatches(job.owner, request.owner)) &&
  (request.before === undefined || (job.since !== undefined && job.since <= request.before));

/** A claim's whole owner, or the worker that made it. */
const ownerMatches = (owner: string | undefined, wanted: string): boolean =>
  owner !== undefined && (owner === wanted || workerOf(owner) === wanted);

/** Unfinished jobs, from the lease index, soonest lease end first. */
export async function listUnfinished(
  system: System,
  statuses: readonly ('pending' | 'running')[],
  request: ListRequest,
): Promise<Listing> {
  const all = allShards(system.settings.shards);
  const jobs: ListedJob[] = [];
  const bad: string[] = [];
  let looked = 0;
  let positions: Positions | undefined = decodeCursor<Positions>(request.cursor);
  const leases = allLeases(system.table, {
    shards: statuses.flatMap((status) => all[status]),
    pageSize: Math.min(PAGE, request.limit + 1),
    positions,
  });
  for await (const found of leases) {
    if (found.entry === undefined) {
      bad.push(found.bad.message);
      continue;
    }
    const job = listedLease(found.entry, system);
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

function listedLease(entry: LeaseEntry, { settings }: System): ListedJob {
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

interface FailurePlace {
  readonly type: string;
  readonly at?: Cursor;
}

/** Failed jobs of these types, from the failure index, newest first within each type. */
export async function listFailed(
  system: Pick<System, 'table'>,
  types: readonly string[],
  request: ListRequest & { readonly since?: number },
): Promise<Listing> {
  const place = decodeCursor<FailurePlace>(request.cursor);
  const jobs: ListedJob[] = [];
  let looked = 0;
  for (const type of types.slice(place === undefined ? 0 : Math.max(0, types.indexOf(place.type)))) {
    let cursor = place?.type === type ? place.at : undefined;
    do {
      const page = await system.table.query({
        index: 'byFailure',
        partition: type,
        limit: Math.min(PAGE, request.limit),
        newestFirst: true,
        after: request.since === undefined ? undefined : request.since - 1,
        upTo: request.before,
        cursor,
      });
      for (const row of page.rows) {
        const job = listedRow(row);
        if (matches(job, request)) {
          if (jobs.length === request.limit)
            return {
              jobs,
              bad: [],
              looked,
              cursor: encodeCursor({ type, at: cursor }),
            };
          jobs.push(job);
        }
        looked++;
        cursor = { jobId: row.jobId, type, failedAt: row.failedAt };
      }
      cursor = page.cursor;
    } while (cursor !== undefined);
  }
  return { jobs, bad: [], looked };
}

/** Jobs by a scan of the whole table: the only way to those that are in no index. */
export async function listByScan(system: System, status: string, request: ListRequest): Promise<Listing> {
  let cursor = decodeCursor<Cursor>(request.cursor);
  const jobs: ListedJob[] = [];
  let looked = 0;
  do {
    const page = await system.inspection.scan({ status, cursor });
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
  const since = number('failedAt') ?? number('finishedAt') ?? number('startedAt') ?? number('createdAt');
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
