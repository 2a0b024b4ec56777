import { decodePlace, encodePlace } from '../../client/cursor.ts';
import { concernsOneRow } from '../../protocol/errors.ts';
import { inParallel } from '../../protocol/in-parallel.ts';
import type { Clock, JobStore, Table } from '../../protocol/ports.ts';
import { allShards } from '../../protocol/shards.ts';
import { allFailures } from '../../protocol/store/all-failures.ts';
import { allLeases } from '../../protocol/store/all-leases.ts';
import type { Place } from '../../protocol/store/merged-shards.ts';
import type { Settings } from '../../settings/settings.ts';
import { BAD_MESSAGE_PREFIX } from '../../wire/table.ts';
import { matches } from './job-filter.ts';
import { summaryOfEntry, summaryOfFailure, summaryOfJob } from './job-summary.ts';
import { type JobFilter, type JobSummary, timeSpans } from './page-messages.ts';
import { readUnits } from './watch/read-budget.ts';
import type { Watcher } from './watch/watcher.ts';

/** What the index holds, so that all of it can be found. */
const statuses = ['failed', 'pending', 'running'] as const;
/** Of one request, because each entry may cost a read of its row. */
const LOOKED_AT = 250;
const PAGE = 25;
const ROWS_AT_ONCE = 8;

interface MatchingParts {
  readonly table: Pick<Table, 'query'>;
  readonly store: Pick<JobStore, 'read'>;
  readonly clock: Clock;
  readonly settings: Pick<Settings, 'shards'>;
  readonly watcher: Pick<Watcher, 'jobs' | 'budget'>;
}

interface MatchingRequest extends JobFilter {
  readonly status: (typeof statuses)[number];
  readonly cursor?: string;
}

export const NO_FILTER = `The body must be {"status": …}, one of ${statuses.join(', ')}, with an optional type, error, search, since, and cursor`;

export function matchingRequestIn(body: unknown): MatchingRequest | undefined {
  const given = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>;
  const { status, search = '', type, error, since, cursor } = given;
  const isText = (value: unknown) => value === undefined || typeof value === 'string';
  if (![search, type, error, since, cursor].every(isText)) return undefined;
  if (!(statuses as readonly unknown[]).includes(status)) return undefined;
  if (since !== undefined && !Object.hasOwn(timeSpans, String(since))) return undefined;
  return { status, search, type, error, since, cursor } as MatchingRequest;
}

/** One stretch of all jobs on which an operator can act at once. */
export async function matchingJobs(
  parts: MatchingParts,
  request: MatchingRequest,
): Promise<{ readonly jobIds: readonly string[]; readonly cursor?: string }> {
  const { store, clock, watcher } = parts;
  const now = clock.now();
  const jobIds: string[] = [];
  const unread: string[] = [];
  let looked = 0;
  let next: Place | undefined;
  for await (const { job, place } of candidates(parts, request, now)) {
    const isMatch = canBeActedOn(job) && matches(job, request, now);
    if (isMatch !== false) (isMatch === true ? jobIds : unread).push(job.jobId);
    if (++looked < LOOKED_AT) continue;
    next = place;
    break;
  }
  await inParallel(unread, ROWS_AT_ONCE, async (jobId) => {
    const row = await store.read(jobId).catch((error: unknown) => {
      if (!concernsOneRow(error)) throw error;
    });
    watcher.budget.spend(readUnits(row, 1));
    if (row !== undefined && matches(summaryOfJob(row, now), request, now) === true) jobIds.push(jobId);
  });
  return { jobIds, cursor: next && encodePlace(next) };
}

const canBeActedOn = ({ jobId, cancelRequested }: JobSummary): boolean =>
  !jobId.startsWith(BAD_MESSAGE_PREFIX) && cancelRequested !== true;

/** Failures newest first, so that a job that fails again meanwhile is left alone. */
async function* candidates(
  { table, settings, watcher }: MatchingParts,
  { status, since, cursor }: MatchingRequest,
  now: number,
): AsyncGenerator<{ readonly job: JobSummary; readonly place: Place }> {
  const priced: Pick<Table, 'query'> = {
    async query(request) {
      const reply = await table.query(request);
      watcher.budget.spend(readUnits(reply.rows, 0.5));
      return reply;
    },
  };
  const range = { pageSize: PAGE, from: decodePlace(cursor) };
  if (status === 'failed') {
    const times = { since: since && now - timeSpans[since], before: now };
    for await (const { failure, place } of allFailures(priced, {
      ...range,
      ...times,
      shards: settings.shards,
    }))
      yield { job: summaryOfFailure(failure), place };
    return;
  }
  for await (const { entry, place } of allLeases(priced, {
    ...range,
    shards: allShards(settings.shards)[status],
  }))
    if (entry !== undefined) yield { job: summaryOfEntry(entry, now, watcher.jobs.get(entry.jobId)), place };
}
