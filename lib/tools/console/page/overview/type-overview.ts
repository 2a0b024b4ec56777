import type { JobSummary } from '../../page-messages.ts';
import { ranMs } from '../list/job-order.ts';

export interface TypeFigures {
  readonly type: string;
  readonly running: number;
  readonly pending: number;
  readonly parked: number;
  readonly failed: number;
  readonly done: number;
  readonly donePerMinute: number;
  readonly runMs?: number;
}

const WINDOW_MS = 300_000;

export function overviewByType(
  jobs: Iterable<JobSummary>,
  failedByType: Readonly<Record<string, number>>,
  now: number,
  controlled: readonly string[] = [],
): TypeFigures[] {
  const listed = Map.groupBy(jobs, ({ type }) => type);
  for (const type of [...Object.keys(failedByType), ...controlled])
    if (!listed.has(type)) listed.set(type, []);
  return [...listed]
    .map(([type, own]) => ({ ...figuresOf(type, own, now), failed: failedByType[type] ?? 0 }))
    .sort((a, b) => b.failed - a.failed || b.running - a.running || (a.type < b.type ? -1 : 1));
}

function figuresOf(type: string, jobs: readonly JobSummary[], now: number): Omit<TypeFigures, 'failed'> {
  const count = (status: JobSummary['status']) => jobs.filter((job) => job.status === status).length;
  const recent = jobs.filter(
    ({ status, finishedAt = 0 }) => status === 'done' && now - finishedAt <= WINDOW_MS,
  );
  return {
    type,
    running: count('running'),
    pending: count('pending'),
    parked: jobs.filter(({ status, waitsFor }) => status === 'pending' && waitsFor !== undefined).length,
    done: count('done'),
    donePerMinute: recent.length / (WINDOW_MS / 60_000),
    runMs: median(recent.flatMap((job) => ranMs(job, now) ?? [])),
  };
}

function median(values: readonly number[]): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[sorted.length >> 1];
}
