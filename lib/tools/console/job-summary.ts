import { type FailedJob, isFinished, type Job, LEASE_EXPIRED, type LeaseEntry } from '../../protocol/job.ts';
import type { FailureEntry } from '../../protocol/store/all-failures.ts';
import type { JsonValue } from '../../wire/message.ts';
import { BAD_MESSAGE_TYPE } from '../../wire/table.ts';
import { lastEnding } from '../inspect/last-ending.ts';
import { isQuarantined } from '../inspect/timeline.ts';
import { failureKind } from '../inspect/why-failed.ts';
import type { JobSummary } from './page-messages.ts';

const SHOWN_ERROR_CHARS = 160;

export function summaryOfJob(job: Job, now: number, seen?: JobSummary): JobSummary {
  return {
    ...countsOf(job),
    status: job.status,
    changedAt: lastChangeOf(job, now, seen),
    leaseUntil: isFinished(job) ? undefined : job.leaseUntil,
    leaseMs: isFinished(job) ? undefined : job.leaseMs,
    leaseOwner: job.leaseOwner,
    notBefore: job.status === 'pending' ? job.notBefore : undefined,
    key: job.key,
    waitsFor: job.status === 'pending' ? job.waitsFor : undefined,
    startedAt: 'startedAt' in job ? job.startedAt : undefined,
    finishedAt: isFinished(job) ? job.finishedAt : undefined,
    cancelRequested: job.cancelRequested || undefined,
    lastError: headlineOf(lastWordsOf(job)),
    failure: job.status === 'failed' ? failureKind(job) : undefined,
    progress: fractionOf(job.progress),
  };
}

export function summaryOfFailure({ jobId, type, attempt, failedAt, row }: FailureEntry): JobSummary {
  const number = (name: string) => (typeof row[name] === 'number' ? (row[name] as number) : 0);
  const counts = { errors: number('errors'), crashes: number('crashes'), lapses: number('lapses') };
  const { leaseOwner, startedAt, maxAttempts, maxCrashes } = row as Partial<FailedJob>;
  return {
    jobId,
    type,
    attempt,
    ...counts,
    releases: number('releases'),
    status: 'failed',
    changedAt: failedAt,
    finishedAt: failedAt,
    startedAt,
    leaseOwner,
    failure: failureOfCounts(type, { ...counts, maxAttempts, maxCrashes }),
    isErrorUnread: true,
  };
}

function failureOfCounts(
  type: string,
  counts: Parameters<typeof isQuarantined>[0] & { readonly errors: number },
): JobSummary['failure'] {
  if (type === BAD_MESSAGE_TYPE) return 'rejected';
  if (isQuarantined(counts)) return 'quarantined';
  return counts.errors + counts.crashes >= (counts.maxAttempts ?? Number.POSITIVE_INFINITY)
    ? 'attemptsUsedUp'
    : 'other';
}

/** Keeps from `seen` what the index does not project. */
export function summaryOfEntry(entry: LeaseEntry, now: number, seen?: JobSummary): JobSummary {
  const sameClaim = seen?.status === entry.status && seen.attempt === entry.attempt;
  return {
    ...countsOf(entry),
    status: entry.status,
    changedAt: sameClaim ? seen.changedAt : (entry.startedAt ?? now),
    leaseUntil: entry.leaseUntil,
    leaseMs: entry.leaseMs,
    leaseOwner: entry.leaseOwner,
    notBefore: entry.status === 'pending' ? entry.notBefore : undefined,
    key: entry.key,
    waitsFor: entry.status === 'pending' ? entry.waitsFor : undefined,
    startedAt: entry.status === 'running' ? entry.startedAt : undefined,
    finishedAt: undefined,
    cancelRequested: entry.cancelRequested || undefined,
    lastError: seen?.lastError,
    failure: undefined,
    progress: seen?.progress,
  };
}

/** The end of the last attempt, because the row's error may be older. */
function lastWordsOf(job: Job): string | undefined {
  const ending = isFinished(job) ? undefined : lastEnding(job)?.message;
  return ending ?? (job.lastError === LEASE_EXPIRED ? 'worker lost' : job.lastError);
}

const headlineOf = (error: string | undefined): string | undefined =>
  error?.split('\n')[0]?.slice(0, SHOWN_ERROR_CHARS);

/** Comparing JSON works because it omits undefined and both are built in the same order. */
export const isSameSummary = (a: JobSummary | undefined, b: JobSummary): boolean =>
  a !== undefined && JSON.stringify(a) === JSON.stringify(b);

const countsOf = (job: Job | LeaseEntry) => ({
  jobId: job.jobId,
  type: job.type,
  attempt: job.attempt,
  errors: job.errors,
  crashes: job.crashes,
  lapses: job.lapses,
  releases: job.releases,
});

function lastChangeOf(job: Job, now: number, seen: JobSummary | undefined): number {
  if (isFinished(job)) return job.finishedAt;
  if (job.status === 'running') return job.startedAt;
  if (seen?.status === 'pending' && seen.attempt === job.attempt) return seen.changedAt;
  return job.claims.at(-1)?.to ?? Math.min(now, job.createdAt);
}

/** Handlers report a number up to 1, a percentage, or "done of total". */
function fractionOf(progress: JsonValue | undefined): number | undefined {
  if (typeof progress === 'number') {
    if (progress < 0 || progress > 100) return undefined;
    return progress <= 1 ? progress : progress / 100;
  }
  if (typeof progress !== 'object' || progress === null || Array.isArray(progress)) return undefined;
  const { of, total = of, ...rest } = progress as Readonly<Record<string, JsonValue>>;
  const [done, ...others] = Object.values(rest).filter((value) => typeof value === 'number');
  if (typeof total !== 'number' || total <= 0 || done === undefined || others.length > 0) return undefined;
  return Math.min(1, Math.max(0, done / total));
}
