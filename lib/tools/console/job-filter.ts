import { type JobFilter, type JobSummary, timeSpans } from './page-messages.ts';

/** Replaces ids and numbers, so that jobs with the same cause share a line. */
export const errorGroup = (error: string): string =>
  (error.split('\n')[0] ?? '').replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}|0x[0-9a-f]+|\d+/gi, '#').slice(0, 80);

/** `unread` if only the job's row can tell. */
export function matches(job: JobSummary, filter: JobFilter, now: number): boolean | 'unread' {
  const { status, search, type, error, since } = filter;
  if (status !== 'all' && job.status !== status) return false;
  if (type !== undefined && job.type !== type) return false;
  if (since !== undefined && now - job.changedAt > timeSpans[since]) return false;
  if (error !== undefined && job.isErrorUnread) return 'unread';
  if (error !== undefined && (job.lastError === undefined || errorGroup(job.lastError) !== error))
    return false;
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const text = `${job.jobId} ${job.type} ${job.leaseOwner ?? ''} ${job.lastError ?? ''}`.toLowerCase();
  if (words.every((word) => text.includes(word))) return true;
  return job.isErrorUnread ? 'unread' : false;
}
