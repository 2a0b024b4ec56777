import { isCrash, type Job } from '../../../protocol/job.ts';
import type { Clock } from '../../../protocol/ports.ts';
import type { JobSummary } from '../page-messages.ts';
import type { TrendMemory } from './trend.ts';

export interface ObserverParts {
  readonly clock: Pick<Clock, 'now'>;
  readonly trend: TrendMemory;
}

/** Counts for the history what jobs go through. */
export class JobObserver {
  readonly #parts: ObserverParts;
  readonly #counted = new Map<string, number>();

  constructor(parts: ObserverParts) {
    this.#parts = parts;
  }

  noteChange(before: JobSummary | undefined, { status, finishedAt }: JobSummary): void {
    const { clock, trend } = this.#parts;
    if ((status === 'done' || status === 'failed') && before?.status !== status)
      trend.count(status, finishedAt ?? clock.now(), clock.now());
  }

  /** Call this before the row's summary replaces the previous one. */
  noteRow(before: JobSummary | undefined, { jobId, claims }: Job): void {
    const { trend, clock } = this.#parts;
    const counted = this.#counted.get(jobId) ?? 0;
    for (const { attempt, outcome, cause, to } of claims) {
      if (attempt <= counted) continue;
      if (outcome === 'lapsed') trend.count('reclaimed', to, clock.now());
      else if (outcome === 'crashed' || isCrash(cause)) trend.count('crashed', to, clock.now());
      if (outcome === 'lapsed' && before?.attempt === attempt && before.leaseUntil !== undefined)
        trend.measure('delayMs', to, to - before.leaseUntil);
      this.#counted.set(jobId, attempt);
    }
  }

  forget(jobId: string): void {
    this.#counted.delete(jobId);
  }
}
