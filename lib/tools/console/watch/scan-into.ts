import { isFinished, type JobStatus } from '../../../protocol/job.ts';
import { parseJob } from '../../../protocol/rows/parse-row.ts';
import type { KnownJobs } from './known-jobs.ts';
import type { WatcherOptions } from './watcher.ts';

const PAGE = 500;

/** Undefined if it was stopped. */
export async function scanInto(
  jobs: KnownJobs,
  scan: NonNullable<WatcherOptions['scan']>,
  signal: AbortSignal,
): Promise<Partial<Record<JobStatus, number>> | undefined> {
  const finished: Partial<Record<JobStatus, number>> = {};
  let page: Awaited<ReturnType<typeof scan>> | undefined;
  do {
    page = await scan({ limit: PAGE, cursor: page?.cursor });
    for (const row of page.rows)
      try {
        const job = parseJob(row);
        if (isFinished(job)) finished[job.status] = (finished[job.status] ?? 0) + 1;
        jobs.takeRow(job);
      } catch {
        // Skips the reaper's row; unreadable rows are reported by `doctor`.
      }
  } while (page.cursor !== undefined && !signal.aborted);
  return page.cursor === undefined ? finished : undefined;
}
