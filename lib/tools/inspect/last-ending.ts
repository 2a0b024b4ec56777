import { isCrash, type Job, LEASE_EXPIRED, type PastClaim } from '../../protocol/job.ts';

export interface LastEnding {
  readonly attempt: number;
  /** One line. */
  readonly message: string;
  /** The attempt that left the row's error; differs where the last attempt ended without one. */
  readonly errorOf: number;
}

/** How the last attempt ended. The row's error may be older: releases and take-backs leave it alone. */
export function lastEnding(job: Job): LastEnding | undefined {
  const ended = job.claims.filter(({ attempt }) => job.status !== 'running' || attempt < job.attempt);
  const last = ended.at(-1);
  if (last === undefined) return undefined;
  return {
    attempt: last.attempt,
    message: endingOf(last, job.lastError),
    errorOf: ended.findLast((claim) => leavesError(claim))?.attempt ?? last.attempt,
  };
}

const leavesError = ({ outcome, cause }: PastClaim): boolean =>
  cause !== undefined ||
  outcome === 'retried' ||
  outcome === 'failed' ||
  outcome === 'crashed' ||
  outcome === 'lapsed';

function endingOf(claim: PastClaim, lastError: string | undefined): string {
  const { outcome, cause } = claim;
  if (outcome === 'lapsed' || cause === LEASE_EXPIRED) return 'worker lost';
  if (cause !== undefined) return cause;
  if (leavesError(claim)) return lastError?.split('\n')[0] ?? outcome;
  switch (outcome) {
    case 'released':
      return 'released at a deadline or shutdown, not charged';
    case 'takenBack':
      return 'taken back by an operator, not charged';
    case 'cancelled':
      return 'cancelled by an operator';
    default:
      return outcome;
  }
}

const remedies: readonly (readonly [RegExp, string])[] = [
  [
    /out of memory/i,
    'Give it more memory (the function or container, cellMemoryMb), or let each run use less, and deploy',
  ],
  [
    /maxStallMs/,
    'Let its handler yield to the event loop, or compute in a worker thread; raise maxStallMs only if it must block',
  ],
  [/killAfterMs/, 'Let its handler watch its signal and stop in time, or raise killAfterMs'],
  [
    /unhandled rejection|uncaught exception/,
    'Await or catch what its handler starts: an error outside of it ends the whole process',
  ],
  [/exit code/, 'Find the exit call in its handler or in a library, and let it throw instead'],
  [/checkpoint$/, 'Let its handler store a checkpoint before its time is over, or give it more time'],
];

export function remedyFor(job: Job): string {
  const { lastError = '' } = job;
  const [head = ''] = lastError.split('\n');
  if (lastError === LEASE_EXPIRED)
    return 'Look at why its hosts were lost at the times below: stopped, out of memory, or cut off from DynamoDB';
  if (isCrash(lastError) || head.endsWith('checkpoint')) {
    const known = remedies.find(([cause]) => cause.test(head))?.[1];
    return known ?? 'Find out what ended each attempt, fix it, and deploy';
  }
  return 'Fix what the error names';
}
