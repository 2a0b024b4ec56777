import { isFinished, type Job } from '../../protocol/job.ts';
import type { Clock } from '../../protocol/ports.ts';
import type { History } from './history.ts';
import type { JobSummary } from './page-messages.ts';
import type { Series } from './series.ts';

export interface ObserverParts {
  readonly clock: Pick<Clock, 'now'>;
  readonly history: History;
  readonly series: Series;
}

/** Records what happened to a job between two looks. */
export class JobObserver {
  readonly #parts: ObserverParts;
  readonly #checkpoints = new Map<string, number>();

  constructor(parts: ObserverParts) {
    this.#parts = parts;
  }

  noteChange(before: JobSummary | undefined, after: JobSummary): void {
    const { clock, history, series } = this.#parts;
    if (after.status === 'done' && before?.status !== 'done')
      series.finished(after.finishedAt ?? clock.now(), clock.now());
    if (after.status !== 'running' || before?.status !== 'running' || before.attempt !== after.attempt)
      return;
    const { jobId, attempt, leaseUntil, leaseMs = 0, leaseOwner } = after;
    if (leaseUntil !== undefined && leaseUntil !== before.leaseUntil)
      history.add(jobId, { at: leaseUntil - leaseMs, kind: 'heartbeat', attempt, by: leaseOwner });
  }

  /** Call this before the row's summary replaces the previous one. */
  noteRow(before: JobSummary | undefined, job: Job): void {
    this.#noteLapse(before, job);
    this.#noteCheckpoint(before, job);
  }

  forget(jobId: string): void {
    this.#checkpoints.delete(jobId);
  }

  /** A lapse shows twice: as the lease end in the last summary, and as the reclaim in the row's claims. */
  #noteLapse(before: JobSummary | undefined, job: Job): void {
    if (before?.status !== 'running' || before.leaseUntil === undefined) return;
    const { jobId, attempt, leaseUntil, leaseOwner } = before;
    const lapse = job.claims.find((claim) => claim.attempt === attempt && claim.outcome === 'lapsed');
    if (lapse === undefined) return;
    this.#parts.series.reclaimed({ at: lapse.to, delayMs: lapse.to - leaseUntil, jobId });
    this.#parts.history.add(jobId, { at: leaseUntil, kind: 'lapsed', attempt, by: leaseOwner });
  }

  #noteCheckpoint(before: JobSummary | undefined, job: Job): void {
    const { jobId, attempt, checkpointSeq } = job;
    const seen = this.#checkpoints.get(jobId) ?? 0;
    if (checkpointSeq > seen && before?.status === 'running' && before.attempt === attempt)
      this.#parts.history.add(jobId, { at: this.#parts.clock.now(), kind: 'checkpoint', attempt });
    if (isFinished(job)) this.#checkpoints.delete(jobId);
    else this.#checkpoints.set(jobId, checkpointSeq);
  }
}
