import { isFinished, type Job, type LeaseEntry } from '../../protocol/job.ts';
import type { JsonValue } from '../../wire/message.ts';
import { failureKind } from '../inspect/why-failed.ts';
import type { JobSummary } from './page-messages.ts';

/** The list shows the first line of an error; the job's page has all of it. */
const SHOWN_ERROR_CHARS = 160;

/** A job's row as the list shows it. `seen` is the summary before, which knows what a row does not tell. */
export function summaryOfJob(job: Job, now: number, seen?: JobSummary): JobSummary {
  const leaseUntil = isFinished(job) ? undefined : job.leaseUntil;
  return {
    ...countsOf(job),
    status: job.status,
    changedAt: lastChangeOf(job, now, seen),
    leaseUntil,
    leaseSpanMs: leaseUntil === undefined ? undefined : spanOf(leaseUntil, job, now, seen),
    leaseOwner: job.leaseOwner,
    notBefore: job.status === 'pending' ? job.notBefore : undefined,
    startedAt: 'startedAt' in job ? job.startedAt : undefined,
    finishedAt: isFinished(job) ? job.finishedAt : undefined,
    waitedMs: seen?.waitedMs,
    cancelRequested: job.cancelRequested || undefined,
    lastError: headlineOf(job.lastError),
    failure: job.status === 'failed' ? failureKind(job) : undefined,
    progress: fractionOf(job.progress),
  };
}

/** An entry of the lease index as the list shows it; what the index does not project is kept from before. */
export function summaryOfEntry(entry: LeaseEntry, now: number, seen?: JobSummary): JobSummary {
  const sameClaim = seen?.status === entry.status && seen.attempt === entry.attempt;
  return {
    ...countsOf(entry),
    status: entry.status,
    changedAt: sameClaim ? seen.changedAt : (entry.startedAt ?? now),
    leaseUntil: entry.leaseUntil,
    leaseSpanMs: spanOf(entry.leaseUntil, entry, now, seen),
    leaseOwner: entry.leaseOwner,
    notBefore: entry.status === 'pending' ? entry.notBefore : undefined,
    startedAt: entry.status === 'running' ? entry.startedAt : undefined,
    finishedAt: undefined,
    waitedMs: seen?.waitedMs,
    cancelRequested: entry.cancelRequested || undefined,
    lastError: seen?.lastError,
    failure: undefined,
    progress: seen?.progress,
  };
}

const headlineOf = (error: string | undefined): string | undefined =>
  error?.split('\n')[0]?.slice(0, SHOWN_ERROR_CHARS);

/** Whether the page would show the two alike. JSON leaves out what is undefined, and both are built in one order. */
export const isSameSummary = (a: JobSummary | undefined, b: JobSummary): boolean =>
  a !== undefined && JSON.stringify(a) === JSON.stringify(b);

const countsOf = (job: Job | LeaseEntry) => ({
  jobId: job.jobId,
  type: job.type,
  attempt: job.attempt,
  errors: job.errors,
  crashes: job.crashes,
  releases: job.releases,
});

function lastChangeOf(job: Job, now: number, seen: JobSummary | undefined): number {
  if (isFinished(job)) return job.finishedAt;
  if (job.status === 'running') return job.startedAt;
  if (seen?.status === 'pending' && seen.attempt === job.attempt) return seen.changedAt;
  return job.claims.at(-1)?.to ?? Math.min(now, job.createdAt);
}

/** A lease may have grown with its attempt's age: what is left when an extension is first seen is its full length. */
function spanOf(
  leaseUntil: number,
  job: { readonly leaseMs: number },
  now: number,
  seen: JobSummary | undefined,
): number {
  if (seen?.leaseUntil === leaseUntil && seen.leaseSpanMs !== undefined) return seen.leaseSpanMs;
  return Math.max(job.leaseMs, leaseUntil - now);
}

/** Handlers report what they like: a number up to 1, a percentage, or how much of how much. */
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
