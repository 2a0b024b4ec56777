import { parseJob } from '../../protocol/rows/parse-row.ts';
import type { KnownJobs } from './known-jobs.ts';
import type { WatcherOptions } from './watcher.ts';

const PAGE = 500;
/** No more than this many are kept, so reading further would be in vain. */
const MAX_ROWS = 20_000;

/** Takes in the whole table, page by page, so that a stop is heard between two of them. False where it was not all of it. */
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
        // The leader's row is not a job, and a row that cannot be read is for the doctor to report.
      }
    }
  } while (page.cursor !== undefined && rows < MAX_ROWS && !signal.aborted);
  return page.cursor === undefined;
}
