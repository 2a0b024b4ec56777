import { isCrash, isFinished, type Job } from '../../../protocol/job.ts';
import type { Clock } from '../../../protocol/ports.ts';
import type { JobSummary } from '../page-messages.ts';
import type { History } from './history.ts';
import type { TrendMemory } from './trend.ts';

export interface ObserverParts {
  readonly clock: Pick<Clock, 'now'>;
  readonly history: History;
  readonly trend: TrendMemory;
}

export class JobObserver {
  readonly #parts: ObserverParts;
  readonly #checkpoints = new Map<string, number>();
  readonly #counted = new Map<string, number>();

  constructor(parts: ObserverParts) {
    this.#parts = parts;
  }

  noteChange(before: JobSummary | undefined, after: JobSummary): void {
    const { clock, history, trend } = this.#parts;
    const { status, finishedAt = clock.now() } = after;
    if ((status === 'done' || status === 'failed') && before?.status !== status)
      trend.count(status, finishedAt, clock.now());
    if (status !== 'running' || before?.status !== 'running' || before.attempt !== after.attempt) return;
    const { jobId, attempt, leaseUntil, leaseMs = 0, leaseOwner } = after;
    if (leaseUntil !== undefined && leaseUntil !== before.leaseUntil)
      history.add(jobId, { at: leaseUntil - leaseMs, kind: 'heartbeat', attempt, by: leaseOwner });
  }

  /** Call this before the row's summary replaces the previous one. */
  noteRow(before: JobSummary | undefined, job: Job): void {
    this.#countEnds(job);
    this.#noteLapse(before, job);
    this.#noteCheckpoint(before, job);
  }

  forget(jobId: string): void {
    this.#checkpoints.delete(jobId);
    this.#counted.delete(jobId);
  }

  #countEnds({ jobId, claims }: Job): void {
    const { trend, clock } = this.#parts;
    const counted = this.#counted.get(jobId) ?? 0;
    for (const { attempt, outcome, cause, to } of claims) {
      if (attempt <= counted) continue;
      if (outcome === 'lapsed') trend.count('reclaimed', to, clock.now());
      else if (outcome === 'crashed' || isCrash(cause)) trend.count('crashed', to, clock.now());
      this.#counted.set(jobId, attempt);
    }
  }

  /** A lapse shows twice: as the lease end in the last summary, and as the reclaim in the row's claims. */
  #noteLapse(before: JobSummary | undefined, job: Job): void {
    if (before?.status !== 'running' || before.leaseUntil === undefined) return;
    const { jobId, attempt, leaseUntil, leaseOwner } = before;
    const lapse = job.claims.find((claim) => claim.attempt === attempt && claim.outcome === 'lapsed');
    if (lapse === undefined) return;
    this.#parts.trend.measure('delayMs', lapse.to, lapse.to - leaseUntil);
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
