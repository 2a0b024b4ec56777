import { isFinished, type Job } from '../../protocol/job.ts';
import type { JsonValue } from '../../wire/message.ts';
import { CLAIM_RING_SIZE } from '../../wire/table.ts';
import { times } from './counted.ts';

/** What a job's row tells without a time. */
export interface Facts {
  readonly attempt: number;
  /** These three since the job was created or last revived. */
  readonly errors: number;
  readonly crashes: number;
  readonly releases: number;
  readonly maxAttempts: number;
  readonly maxCrashes: number;
  /** So many of the first attempts are older than the row remembers. */
  readonly attemptsForgotten: number;
  /** Attempts that were released before their worker learned of them. */
  readonly attemptsWithoutEntry: readonly number[];
  /** 0: none is saved. */
  readonly checkpointSeq: number;
  readonly progress?: JsonValue;
  readonly cancelRequested: boolean;
  readonly changedBy: string;
}

export function factsOf(job: Job): Facts {
  const past = job.status === 'running' ? job.attempt - 1 : job.attempt;
  const known = new Set(job.claims.map((claim) => claim.attempt));
  const attemptsForgotten = Math.max(0, past - CLAIM_RING_SIZE);
  const remembered = Array.from({ length: past - attemptsForgotten }, (_, i) => attemptsForgotten + i + 1);
  return {
    attempt: job.attempt,
    errors: job.errors,
    crashes: job.crashes,
    releases: job.releases,
    maxAttempts: job.maxAttempts,
    maxCrashes: job.maxCrashes,
    attemptsForgotten,
    attemptsWithoutEntry: remembered.filter((attempt) => !known.has(attempt)),
    checkpointSeq: job.checkpointSeq,
    progress: job.progress,
    cancelRequested: job.cancelRequested && !isFinished(job),
    changedBy: job.changedBy,
  };
}

/** The facts in sentences. */
export function tellFacts(facts: Facts, status: Job['status']): string[] {
  const { attempt, errors, crashes, releases, attemptsForgotten, checkpointSeq, progress } = facts;
  return [
    `claimed ${times(attempt)}; since it was created or last revived, ${errors} ended by errors, ${crashes} by crashes, ${releases} released`,
    `fails for good at ${facts.maxAttempts} errors and crashes together, or at ${facts.maxCrashes} crashes`,
    ...(attemptsForgotten > 0 ? [`attempts 1 to ${attemptsForgotten} are older than the row remembers`] : []),
    ...facts.attemptsWithoutEntry.map(
      (n) => `attempt ${n} left no entry: its claim was released before its worker learned of it`,
    ),
    ...(checkpointSeq > 0
      ? [
          `checkpoint ${checkpointSeq} is saved${status === 'done' ? '' : ': the next attempt continues from there'}`,
        ]
      : []),
    ...(progress === undefined ? [] : [`progress: ${JSON.stringify(progress)}`]),
    ...(facts.cancelRequested ? ['an operator asked to cancel it'] : []),
    `last changed by ${facts.changedBy}`,
  ];
}
