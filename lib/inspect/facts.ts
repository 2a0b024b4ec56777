import { isFinished, type Job } from '../protocol/job.ts';
import { CLAIM_RING_SIZE } from '../wire/table.ts';
import { times } from './counted.ts';

/** What a job's row tells without a time. */
export function factsOf(job: Job): string[] {
  const { attempt, errors, crashes, releases } = job;
  return [
    `claimed ${times(attempt)}; since it was created or last revived, ${errors} ended by errors, ${crashes} by crashes, ${releases} released`,
    `fails for good at ${job.maxAttempts} errors and crashes together, or at ${job.maxCrashes} crashes`,
    ...unknownAttempts(job),
    ...(job.checkpointSeq > 0
      ? [
          `checkpoint ${job.checkpointSeq} is saved${job.status === 'done' ? '' : ': the next attempt continues from there'}`,
        ]
      : []),
    ...(job.progress === undefined ? [] : [`progress: ${JSON.stringify(job.progress)}`]),
    ...(job.cancelRequested && !isFinished(job) ? ['an operator asked to cancel it'] : []),
    `last changed by ${job.changedBy}`,
  ];
}

function unknownAttempts(job: Job): string[] {
  const past = job.status === 'running' ? job.attempt - 1 : job.attempt;
  const known = new Set(job.claims.map((claim) => claim.attempt));
  const oldest = Math.max(1, past - CLAIM_RING_SIZE + 1);
  const facts: string[] = [];
  if (oldest > 1) facts.push(`attempts 1 to ${oldest - 1} are older than the row remembers`);
  for (let n = oldest; n <= past; n++)
    if (!known.has(n))
      facts.push(`attempt ${n} left no entry: its claim was released before its worker learned of it`);
  return facts;
}
