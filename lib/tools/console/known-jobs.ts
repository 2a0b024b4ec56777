import { isFinished, type Job, type JobStatus, type LeaseEntry } from '../../protocol/job.ts';
import type { Clock } from '../../protocol/ports.ts';
import { JobObserver, type ObserverParts } from './job-observer.ts';
import { isSameSummary, summaryOfEntry, summaryOfJob } from './job-summary.ts';
import type { JobSummary } from './page-messages.ts';
import { ShardMembers } from './shard-members.ts';

/** A job that changed, or the id of one that is gone. */
export type JobChange = JobSummary | { readonly gone: string };

/** Beyond this many, the jobs that finished longest ago are forgotten. */
const MAX_JOBS = 20_000;
const FORGET_AT_ONCE = 1_000;
/** A wait is told before its job is first seen, and is part of what is known of the job from then on. */
const WAITS_KEPT = 2_000;
/** With at most this many running, each heartbeat is followed by a look at the row, for progress and checkpoints. */
const ROWS_FOLLOWED = 16;

/** The jobs as last seen, and who wants to hear of changes. */
export class KnownJobs {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #observer: JobObserver;
  readonly #summaries = new Map<string, JobSummary>();
  readonly #shards = new ShardMembers();
  readonly #waits = new Map<string, number>();
  #hasForgotten = false;
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

  /** Whether jobs were forgotten because there were too many. */
  get hasForgotten(): boolean {
    return this.#hasForgotten;
  }

  /** Tells how long the job's message waited in the queue before its worker got it. */
  noteWait(jobId: string, waitedMs: number): void {
    if (this.#waits.has(jobId)) return;
    this.#waits.set(jobId, waitedMs);
    const [oldest] = this.#waits.keys();
    if (this.#waits.size > WAITS_KEPT && oldest !== undefined) this.#waits.delete(oldest);
    const known = this.#summaries.get(jobId);
    if (known !== undefined) this.#put(known, this.#shards.of(jobId));
  }

  /** Takes in a whole row. */
  takeRow(job: Job): void {
    const before = this.#summaries.get(job.jobId);
    if (before !== undefined && before.attempt > job.attempt) return;
    this.#observer.noteRow(before, job);
    this.#put(summaryOfJob(job, this.#clock.now(), before), isFinished(job) ? undefined : job.leaseShard);
  }

  /** Takes in an entry of the lease index. True where it alone does not tell what happened, and the row must be read. */
  takeEntry(entry: LeaseEntry): boolean {
    const before = this.#summaries.get(entry.jobId);
    const sameClaim = before?.status === entry.status && before.attempt === entry.attempt;
    if (before !== undefined && isOlder(entry, before)) return false;
    // How a claim ended, and that a finished job was revived, is in the row alone.
    if (before !== undefined && !sameClaim && before.status !== 'pending') return true;
    if (before?.status === 'pending' && entry.status === 'running' && before.attempt === entry.attempt)
      return false;
    this.#put(summaryOfEntry(entry, this.#clock.now(), before), entry.leaseShard);
    // What the index does not tell of a job that is new here: why it is tried again, and how far it is.
    if (before === undefined)
      return entry.errors + entry.crashes > 0 || (entry.status === 'running' && this.#isFollowed());
    return sameClaim && before.leaseUntil !== entry.leaseUntil && this.#isFollowed();
  }

  /** Whether the row of a failed job, of which the index tells, has yet to be read. */
  isNewFailure({ jobId, attempt }: { readonly jobId: string; readonly attempt: number }): boolean {
    const known = this.#summaries.get(jobId);
    return known === undefined || known.attempt < attempt;
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

  /** Jobs that ought to have been in this stretch of the shard and were not. */
  missing(shard: string, seen: ReadonlySet<string>, from: number, to: number): string[] {
    return [...this.#shards.members(shard)].filter((jobId) => {
      const leaseUntil = this.#summaries.get(jobId)?.leaseUntil ?? 0;
      return !seen.has(jobId) && leaseUntil > from && leaseUntil <= to;
    });
  }

  /** Tells of each change from now on; returns how to stop. */
  listen(listener: (change: JobChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #isFollowed(): boolean {
    return this.#counts.running <= ROWS_FOLLOWED;
  }

  #put(seen: JobSummary, shard: string | undefined): void {
    const summary = { ...seen, waitedMs: seen.waitedMs ?? this.#waits.get(seen.jobId) };
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
    this.#hasForgotten = true;
    const finished = [...this.#summaries.values()].filter(({ finishedAt }) => finishedAt !== undefined);
    finished.sort((a, b) => (a.finishedAt ?? 0) - (b.finishedAt ?? 0));
    for (const { jobId } of finished.slice(0, FORGET_AT_ONCE)) this.remove(jobId);
  }

  #tell(change: JobChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}

/** The index lags behind the row: what a consistent read told is not undone by an older entry. */
const isOlder = (entry: LeaseEntry, known: JobSummary): boolean =>
  known.attempt > entry.attempt ||
  (known.attempt === entry.attempt &&
    known.status === 'running' &&
    entry.status === 'running' &&
    entry.leaseUntil < (known.leaseUntil ?? 0));
