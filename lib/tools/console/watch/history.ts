import type { Moment } from '../../inspect/moment.ts';

const MOMENTS_PER_JOB = 300;
const JOBS = 2_000;

export type History = ReturnType<typeof createHistory>;

export function createHistory() {
  const byJob = new Map<string, Moment[]>();
  return {
    add(jobId: string, moment: Moment): void {
      const moments = byJob.get(jobId) ?? [];
      // Re-inserting moves the job to the end of the Map, so the first one is the least recent.
      byJob.delete(jobId);
      byJob.set(jobId, moments);
      moments.push(moment);
      if (moments.length > MOMENTS_PER_JOB) moments.shift();
      if (byJob.size > JOBS) {
        const [oldest] = byJob.keys();
        if (oldest !== undefined) byJob.delete(oldest);
      }
    },
    of: (jobId: string): readonly Moment[] => byJob.get(jobId) ?? [],
  };
}
