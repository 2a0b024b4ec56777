import { parseJob } from '../../protocol/rows/parse-row.ts';
import type { KnownJobs } from './known-jobs.ts';
import type { WatcherOptions } from './watcher.ts';

const PAGE = 500;
/** The console keeps no more than this. */
const MAX_ROWS = 20_000;

/** Stops between pages on request; returns false if part of the table is missing. */
export async function scanInto(
  jobs: KnownJobs,
  scan: NonNullable<WatcherOptions['scan']>,
  signal: AbortSignal,
): Promise<boolean> {
  let page: Awaited<ReturnType<typeof scan>> | undefined;
  let rows = 0;
  do {
    page = await scan({ limit: PAGE, cursor: page?.cursor });
    for (const row of page.rows) {
      rows += 1;
      try {
        jobs.takeRow(parseJob(row));
      } catch {
        // Skips the leader's row; unreadable rows are reported by `doctor`.
      }
    }
  } while (page.cursor !== undefined && rows < MAX_ROWS && !signal.aborted);
  return page.cursor === undefined;
}
