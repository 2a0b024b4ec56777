import { parseJob } from '../protocol/rows/parse-row.ts';
import type { JobBook } from './known-jobs.ts';
import type { WatcherOptions } from './watcher.ts';

const PAGE = 500;
/** The book keeps no more than this many, so reading on would be for nothing. */
const MAX_ROWS = 20_000;

/** Fills the book from the whole table, page by page, so that a stop is heard between two of them. */
export async function scanInto(
  book: JobBook,
  scan: NonNullable<WatcherOptions['scan']>,
  signal: AbortSignal,
): Promise<void> {
  let page: Awaited<ReturnType<typeof scan>> | undefined;
  let rows = 0;
  do {
    page = await scan({ limit: PAGE, ...(page?.cursor === undefined ? {} : { cursor: page.cursor }) });
    for (const row of page.rows) {
      rows += 1;
      try {
        book.job(parseJob(row));
      } catch {
        // The leader's row is not a job, and a row that cannot be read is the doctor's business.
      }
    }
  } while (page.cursor !== undefined && rows < MAX_ROWS && !signal.aborted);
}
