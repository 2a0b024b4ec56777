import type { Moment } from '../inspect/moment.ts';

/** What was seen to happen to jobs, beyond what their rows tell. */
export interface History {
  add(jobId: string, moment: Moment): void;
  of(jobId: string): readonly Moment[];
}

const MOMENTS_PER_JOB = 300;
const JOBS = 2_000;

/** Keeps the last moments of the jobs that something happened to most recently. */
export function createHistory(): History {
  const byJob = new Map<string, Moment[]>();
  return {
    add(jobId, moment) {
      const moments = byJob.get(jobId) ?? [];
      // Taken out and put back: a Map keeps the order of insertion, so the first one is the one longest without news.
      byJob.delete(jobId);
      byJob.set(jobId, moments);
      moments.push(moment);
      if (moments.length > MOMENTS_PER_JOB) moments.shift();
      if (byJob.size > JOBS) {
        const [oldest] = byJob.keys();
        if (oldest !== undefined) byJob.delete(oldest);
      }
    },
    of: (jobId) => byJob.get(jobId) ?? [],
  };
}
