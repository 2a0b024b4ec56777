import { isFinished, type Job, type JobStatus, type LeaseEntry, type PastClaim } from '../protocol/job.ts';
import type { Clock } from '../protocol/ports.ts';
import type { Row } from '../protocol/writes/row-write.ts';
import type { History } from './history.ts';
import { sameView, viewOfEntry, viewOfFailure, viewOfJob } from './job-view.ts';
import type { JobView } from './protocol.ts';
import type { Series } from './series.ts';

export type Counts = Readonly<Record<JobStatus, number>>;

/** The jobs as last seen, and who wants to hear of changes. */
export interface JobBook {
  get(jobId: string): JobView | undefined;
  all(): Iterable<JobView>;
  counts(): Counts;
  types(): ReadonlySet<string>;
  /** What one look brought: a whole row, an index entry, an entry of the failure index. */
  job(job: Job): void;
  /** True where the entry alone does not tell what happened, and the row must be read. */
  entry(entry: LeaseEntry): boolean;
  failure(row: Row): void;
  remove(jobId: string): void;
  /** Jobs that ought to have been in this stretch of the shard and were not. */
  missing(shard: string, seen: ReadonlySet<string>, from: number, to: number): string[];
  /** Called with each job that changed, or the id of one that is gone. */
  listen(listener: (change: JobView | { readonly gone: string }) => void): () => void;
}

/** Beyond this many, the jobs that finished longest ago are forgotten. */
const MAX_JOBS = 20_000;
const FORGET_AT_ONCE = 1_000;
/** With at most this many running, each heartbeat is followed by a look at the row, for progress and checkpoints. */
const ROWS_FOLLOWED = 16;

export function createJobBook(options: {
  readonly clock: Pick<Clock, 'now'>;
  readonly history: History;
  readonly series: Series;
}): JobBook {
  const { clock, history, series } = options;
  const views = new Map<string, JobView>();
  /** The unfinished jobs by shard: the only ones that a look at the index can miss. */
  const shards = new Map<string, Set<string>>();
  const shardOf = new Map<string, string>();
  const counts = { pending: 0, running: 0, done: 0, failed: 0, cancelled: 0 };
  const types = new Set<string>();
  const checkpoints = new Map<string, number>();
  const listeners = new Set<(change: JobView | { readonly gone: string }) => void>();

  const tell = (change: JobView | { readonly gone: string }) => {
    for (const listener of listeners) listener(change);
  };
  const place = (jobId: string, shard: string | undefined) => {
    const before = shardOf.get(jobId);
    if (before === shard) return;
    if (before !== undefined) shards.get(before)?.delete(jobId);
    shardOf.delete(jobId);
    if (shard === undefined) return;
    shardOf.set(jobId, shard);
    const members = shards.get(shard) ?? new Set();
    shards.set(shard, members.add(jobId));
  };
  const put = (view: JobView, shard: string | undefined) => {
    const before = views.get(view.jobId);
    place(view.jobId, shard);
    if (sameView(before, view)) return;
    if (before !== undefined) counts[before.status] -= 1;
    counts[view.status] += 1;
    types.add(view.type);
    views.set(view.jobId, view);
    noteChange(before, view);
    tell(view);
    if (views.size > MAX_JOBS) forget();
  };
  const noteChange = (before: JobView | undefined, view: JobView) => {
    if (view.status === 'done' && before?.status !== 'done') series.finished(view.finishedAt ?? clock.now());
    if (view.status === 'running' && before?.status === 'running' && before.attempt === view.attempt) {
      if (view.leaseUntil !== before.leaseUntil && view.leaseUntil !== undefined)
        history.add(view.jobId, {
          at: view.leaseUntil - (view.leaseSpanMs ?? 0),
          kind: 'heartbeat',
          attempt: view.attempt,
          leaseUntil: view.leaseUntil,
          ...(view.leaseOwner === undefined ? {} : { by: view.leaseOwner }),
        });
      if (view.cancelRequested && !before.cancelRequested)
        history.add(view.jobId, { at: clock.now(), kind: 'cancelRequested', attempt: view.attempt });
    }
  };
  /** A lapse is seen twice: the lease's end in the view before, the moment of the reset in the row's ring of claims. */
  const noteLapse = (before: JobView | undefined, lapse: PastClaim | undefined) => {
    if (before?.status !== 'running' || lapse?.outcome !== 'lapsed' || lapse.attempt !== before.attempt)
      return;
    if (before.leaseUntil === undefined) return;
    series.reclaimed({ at: lapse.to, delayMs: lapse.to - before.leaseUntil, jobId: before.jobId });
    history.add(before.jobId, {
      at: before.leaseUntil,
      kind: 'lapsed',
      attempt: before.attempt,
      ...(before.leaseOwner === undefined ? {} : { by: before.leaseOwner }),
    });
  };
  const noteCheckpoint = (job: Job, before: JobView | undefined) => {
    const seen = checkpoints.get(job.jobId) ?? 0;
    if (job.checkpointSeq > seen && before?.status === 'running' && before.attempt === job.attempt)
      history.add(job.jobId, { at: clock.now(), kind: 'checkpoint', attempt: job.attempt });
    if (isFinished(job)) checkpoints.delete(job.jobId);
    else checkpoints.set(job.jobId, job.checkpointSeq);
  };
  const forget = () => {
    const finished = [...views.values()].filter((view) => view.finishedAt !== undefined);
    finished.sort((a, b) => (a.finishedAt ?? 0) - (b.finishedAt ?? 0));
    for (const { jobId } of finished.slice(0, FORGET_AT_ONCE)) remove(jobId);
  };
  const remove = (jobId: string) => {
    const view = views.get(jobId);
    if (view === undefined) return;
    counts[view.status] -= 1;
    views.delete(jobId);
    checkpoints.delete(jobId);
    place(jobId, undefined);
    tell({ gone: jobId });
  };

  return {
    get: (jobId) => views.get(jobId),
    all: () => views.values(),
    counts: () => counts,
    types: () => types,
    job(job) {
      const before = views.get(job.jobId);
      if (before !== undefined && before.attempt > job.attempt) return;
      noteLapse(
        before,
        job.claims.find(({ attempt }) => attempt === before?.attempt),
      );
      noteCheckpoint(job, before);
      put(viewOfJob(job, clock.now(), before), isFinished(job) ? undefined : job.leaseShard);
    },
    entry(entry) {
      const before = views.get(entry.jobId);
      const sameClaim = before?.status === entry.status && before.attempt === entry.attempt;
      // The index lags behind the row: what a consistent read told is not taken back by an older entry.
      const isOlder =
        before !== undefined &&
        (before.attempt > entry.attempt ||
          (sameClaim && entry.status === 'running' && entry.leaseUntil < (before.leaseUntil ?? 0)));
      if (isOlder) return false;
      // How a claim ended, and that a finished job was revived, is in the row alone.
      if (before !== undefined && !sameClaim && before.status !== 'pending') return true;
      if (before?.status === 'pending' && entry.status === 'running' && before.attempt === entry.attempt)
        return false;
      put(viewOfEntry(entry, clock.now(), before), entry.leaseShard);
      return sameClaim && before.leaseUntil !== entry.leaseUntil && counts.running <= ROWS_FOLLOWED;
    },
    failure(row) {
      const view = viewOfFailure(row);
      const before = view && views.get(view.jobId);
      if (view !== undefined && (before === undefined || before.attempt < view.attempt)) put(view, undefined);
    },
    remove,
    missing(shard, seen, from, to) {
      const ids: string[] = [];
      for (const jobId of shards.get(shard) ?? []) {
        const leaseUntil = views.get(jobId)?.leaseUntil ?? 0;
        if (!seen.has(jobId) && leaseUntil > from && leaseUntil <= to) ids.push(jobId);
      }
      return ids;
    },
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}
