import type { JobSummary } from '../../page-messages.ts';
import { ranMs } from '../list/job-order.ts';

/** The jobs of one type in numbers. What nobody saw is undefined. */
export interface TypeFigures {
  readonly type: string;
  readonly running: number;
  readonly pending: number;
  readonly failed: number;
  readonly done: number;
  readonly donePerMinute: number;
  /** Medians of those that finished in the window. */
  readonly waitMs?: number;
  readonly runMs?: number;
}

/** Rates and medians are of the last five minutes, as the plots are. */
const WINDOW_MS = 300_000;

/** Each type with its numbers, those with failures first. */
export function overviewByType(jobs: Iterable<JobSummary>, now: number): TypeFigures[] {
  return [...Map.groupBy(jobs, ({ type }) => type)]
    .map(([type, own]) => figuresOf(type, own, now))
    .sort((a, b) => b.failed - a.failed || b.running - a.running || (a.type < b.type ? -1 : 1));
}

function figuresOf(type: string, jobs: readonly JobSummary[], now: number): TypeFigures {
  const count = (status: JobSummary['status']) => jobs.filter((job) => job.status === status).length;
  const recent = jobs.filter(
    ({ status, finishedAt = 0 }) => status === 'done' && now - finishedAt <= WINDOW_MS,
  );
  return {
    type,
    running: count('running'),
    pending: count('pending'),
    failed: count('failed'),
    done: count('done'),
    donePerMinute: recent.length / (WINDOW_MS / 60_000),
    waitMs: median(recent.flatMap(({ waitedMs }) => waitedMs ?? [])),
    runMs: median(recent.flatMap((job) => ranMs(job, now) ?? [])),
  };
}

function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}
