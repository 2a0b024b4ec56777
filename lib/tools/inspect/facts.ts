import { isFinished, type Job } from '../../protocol/job.ts';
import type { JsonValue } from '../../wire/message.ts';
import { CLAIM_RING_SIZE } from '../../wire/table.ts';
import { times } from './counted.ts';

export interface Facts {
  readonly attempt: number;
  readonly errors: number;
  readonly crashes: number;
  readonly lapses: number;
  readonly releases: number;
  /** Both are absent until the first claim takes them from the job's type. */
  readonly maxAttempts?: number;
  readonly maxCrashes?: number;
  readonly attemptsForgotten: number;
  /** Attempts released before their worker learned of them. */
  readonly attemptsWithoutEntry: readonly number[];
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
    lapses: job.lapses,
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

export const SET_AT_FIRST_CLAIM = 'set at the first claim';

export function tellFacts(facts: Facts, status: Job['status']): string[] {
  const { attempt, errors, crashes, lapses, releases, attemptsForgotten, checkpointSeq, progress } = facts;
  return [
    `claimed ${times(attempt)}; since it was created or last revived, ${errors} ended by errors, ${crashes} by crashes, ${lapses} by lost hosts, ${releases} released`,
    facts.maxAttempts === undefined || facts.maxCrashes === undefined
      ? `when it fails for good is ${SET_AT_FIRST_CLAIM}`
      : `fails for good at ${facts.maxAttempts} errors and crashes together, at ${facts.maxCrashes} crashes, or when its host is lost too often ('maxLapses')`,
    ...(attemptsForgotten > 0 ? [`the row no longer lists attempts 1 to ${attemptsForgotten}`] : []),
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
