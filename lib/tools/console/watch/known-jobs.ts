import { isFinished, type Job, type JobStatus, type LeaseEntry } from '../../../protocol/job.ts';
import type { Clock } from '../../../protocol/ports.ts';
import type { FailureEntry } from '../../../protocol/store/all-failures.ts';
import { isSameSummary, summaryOfEntry, summaryOfFailure, summaryOfJob } from '../job-summary.ts';
import type { JobSummary } from '../page-messages.ts';
import { JobObserver, type ObserverParts } from './job-observer.ts';
import { ShardMembers } from './shard-members.ts';

export type JobChange = JobSummary | { readonly gone: string };

const MAX_JOBS = 20_000;
const FORGET_AT_ONCE = 1_000;
/** Beyond the first number, a type lists only as many old failures as the second. */
const FAILURES_LISTED = 15_000;
const FAILURES_OF_A_TYPE = 200;
/** With few running jobs, each heartbeat triggers a read of the row for its progress. */
const ROWS_FOLLOWED = 16;

export class KnownJobs {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #observer: JobObserver;
  readonly #summaries = new Map<string, JobSummary>();
  readonly #shards = new ShardMembers();
  readonly #failuresListed = new Map<string, number>();
  readonly #counts: Record<JobStatus, number> = {
    pending: 0,
    running: 0,
    done: 0,
    failed: 0,
    cancelled: 0,
  };
  readonly #listeners = new Set<(change: JobChange) => void>();

  constructor(parts: ObserverParts) {
    this.#clock = parts.clock;
    this.#observer = new JobObserver(parts);
  }

  get(jobId: string): JobSummary | undefined {
    return this.#summaries.get(jobId);
  }

  all(): Iterable<JobSummary> {
    return this.#summaries.values();
  }

  get counts(): Readonly<Record<JobStatus, number>> {
    return this.#counts;
  }

  takeRow(job: Job): void {
    const before = this.#summaries.get(job.jobId);
    if (before !== undefined && before.attempt > job.attempt) return;
    this.#observer.noteRow(before, job);
    this.#put(summaryOfJob(job, this.#clock.now(), before), isFinished(job) ? undefined : job.leaseShard);
  }

  takeEntry(entry: LeaseEntry): boolean {
    const before = this.#summaries.get(entry.jobId);
    const sameClaim = before?.status === entry.status && before.attempt === entry.attempt;
    if (before !== undefined && isOlder(entry, before)) return false;
    // Only the row tells how a claim ended or that a finished job was revived.
    if (before !== undefined && !sameClaim && before.status !== 'pending') return true;
    if (before?.status === 'pending' && entry.status === 'running' && before.attempt === entry.attempt)
      return false;
    this.#put(summaryOfEntry(entry, this.#clock.now(), before), entry.leaseShard);
    // The index does not tell why a new job is retried or how far it is.
    if (before === undefined)
      return entry.errors + entry.crashes > 0 || (entry.status === 'running' && this.#isFollowed());
    return sameClaim && before.leaseUntil !== entry.leaseUntil && this.#isFollowed();
  }

  isNewFailure({ jobId, attempt }: { readonly jobId: string; readonly attempt: number }): boolean {
    const known = this.#summaries.get(jobId);
    return known === undefined || known.attempt < attempt || known.isErrorUnread === true;
  }

  takeFailure(failure: FailureEntry): boolean {
    const known = this.#summaries.get(failure.jobId);
    if (known === undefined) {
      if (this.#hasRoomFor(failure.type)) this.#put(summaryOfFailure(failure), undefined);
      return false;
    }
    // A revived job keeps its attempt, and the index may lag behind it.
    return (
      known.attempt < failure.attempt || (known.attempt === failure.attempt && known.status !== 'failed')
    );
  }

  #hasRoomFor(type: string): boolean {
    const listed = this.#failuresListed.get(type) ?? 0;
    this.#failuresListed.set(type, listed + 1);
    return this.#counts.failed < FAILURES_LISTED || listed < FAILURES_OF_A_TYPE;
  }

  remove(jobId: string): void {
    const summary = this.#summaries.get(jobId);
    if (summary === undefined) return;
    this.#counts[summary.status] -= 1;
    this.#summaries.delete(jobId);
    this.#observer.forget(jobId);
    this.#shards.place(jobId, undefined);
    this.#tell({ gone: jobId });
  }

  /** Jobs that should have been in this stretch of the shard but were not. */
  missing(shard: string, seen: ReadonlySet<string>, from: number, to: number): string[] {
    return [...this.#shards.members(shard)].filter((jobId) => {
      const leaseUntil = this.#summaries.get(jobId)?.leaseUntil ?? 0;
      return !seen.has(jobId) && leaseUntil > from && leaseUntil <= to;
    });
  }

  listen(listener: (change: JobChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #isFollowed(): boolean {
    return this.#counts.running <= ROWS_FOLLOWED;
  }

  #put(summary: JobSummary, shard: string | undefined): void {
    const before = this.#summaries.get(summary.jobId);
    this.#shards.place(summary.jobId, shard);
    if (isSameSummary(before, summary)) return;
    if (before !== undefined) this.#counts[before.status] -= 1;
    this.#counts[summary.status] += 1;
    this.#summaries.set(summary.jobId, summary);
    this.#observer.noteChange(before, summary);
    this.#tell(summary);
    if (this.#summaries.size > MAX_JOBS) this.#forgetOldest();
  }

  #forgetOldest(): void {
    const finished = [...this.#summaries.values()].filter(({ finishedAt }) => finishedAt !== undefined);
    finished.sort((a, b) => (a.finishedAt ?? 0) - (b.finishedAt ?? 0));
    for (const { jobId } of finished.slice(0, FORGET_AT_ONCE)) this.remove(jobId);
  }

  #tell(change: JobChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}

/** The index lags, so an older entry must not undo a consistent read. */
const isOlder = (entry: LeaseEntry, known: JobSummary): boolean =>
  known.attempt > entry.attempt ||
  (known.attempt === entry.attempt &&
    known.status === 'running' &&
    entry.status === 'running' &&
    entry.leaseUntil < (known.leaseUntil ?? 0));
