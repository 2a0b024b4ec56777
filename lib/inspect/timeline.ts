import { isFinished, type Job, type PastClaim } from '../protocol/job.ts';
import { lastBeatAt } from '../settings/lease-length.ts';
import type { Settings } from '../settings/settings.ts';
import { CLAIM_RING_SIZE } from '../wire/table.ts';
import { type NextStep, nextSteps } from './next-steps.ts';

/** One thing that happened to a job, or will. */
export interface TimelineEvent {
  readonly at: number;
  readonly what: 'created' | 'claimed' | 'heartbeat' | 'ended' | 'reclaimed' | 'fenced' | 'finished';
  readonly attempt?: number;
  readonly says: string;
}

/** The life of one job as its row remembers it. */
export interface Timeline {
  readonly events: readonly TimelineEvent[];
  /** What is known without its time. */
  readonly facts: readonly string[];
  readonly next: readonly NextStep[];
}

/** Tells what happened to a job, and what happens next and when. Pure: `now` only tells past from future. */
export function timelineOf(job: Job, now: number, settings: Settings): Timeline {
  return {
    events: [
      created(job),
      ...job.claims.flatMap((claim) => ended(claim, job)),
      ...current(job, settings),
    ].sort((a, b) => a.at - b.at),
    facts: factsOf(job),
    next: nextSteps(job, now, settings),
  };
}

const created = (job: Job): TimelineEvent => ({
  at: job.createdAt,
  what: 'created',
  says:
    job.status === 'failed' && job.rawMessage !== undefined
      ? 'a message came that cannot be run; it is kept here'
      : `first seen as a '${job.type}' job`,
});

function ended(claim: PastClaim, job: Job): TimelineEvent[] {
  const { attempt, owner, from, to } = claim;
  const isLast = claim === job.claims.at(-1) && job.status !== 'running';
  const cause = isLast && job.lastError !== undefined ? `: ${job.lastError}` : '';
  const ends = {
    done: 'finished its work',
    retried: `its handler threw${cause}; the job will run again`,
    failed: `its handler threw${cause}; the job failed for good`,
    released: 'the job was released (deadline, shutdown or operator)',
    cancelled: 'ended the job, as an operator had asked',
    lapsed: `its lease lapsed${cause}; the reaper ${isLast ? verdictOf(job) : 'took the job back'}`,
  } as const;
  return [
    { at: from, what: 'claimed', attempt, says: `claimed by ${owner}` },
    {
      at: to,
      what: claim.outcome === 'lapsed' ? 'reclaimed' : 'ended',
      attempt,
      says: ends[claim.outcome] ?? `ended (${claim.outcome})`,
    },
    ...(claim.outcome === 'lapsed'
      ? [
          {
            at: to,
            what: 'fenced',
            attempt,
            says: `${owner} is fenced: whatever it still writes is refused`,
          } as const,
        ]
      : []),
  ];
}

/** What a lapse led to, where it was the last thing that happened. */
function verdictOf(job: Job): string {
  if (job.status === 'failed') return 'failed the job';
  return job.status === 'cancelled' ? 'ended the job, as an operator had asked' : 'took the job back';
}

function current(job: Job, settings: Settings): TimelineEvent[] {
  if (job.status === 'running') {
    const { attempt } = job;
    const beatAt = Math.max(job.heartbeatAt, lastBeatAt(job, settings));
    return [
      { at: job.startedAt, what: 'claimed', attempt, says: `claimed by ${job.leaseOwner}` },
      ...(beatAt > job.startedAt
        ? [{ at: beatAt, what: 'heartbeat', attempt, says: `last heartbeat of ${job.leaseOwner}` } as const]
        : []),
    ];
  }
  if (!isFinished(job)) return [];
  const cause = job.status === 'failed' && job.lastError !== undefined ? `: ${job.lastError}` : '';
  return [{ at: job.finishedAt, what: 'finished', says: `${job.status}${cause}` }];
}

function factsOf(job: Job): string[] {
  const facts: string[] = [];
  const { attempt, errors, crashes, releases } = job;
  facts.push(
    `claimed ${attempt === 1 ? 'once' : `${attempt} times`}; since it was last revived or created, ${errors} ended by errors, ${crashes} by crashes, ${releases} by release`,
    `fails for good at ${job.maxAttempts} errors and crashes together, or ${job.maxCrashes} crashes`,
  );
  const past = job.status === 'running' ? attempt - 1 : attempt;
  const known = new Set(job.claims.map((claim) => claim.attempt));
  const oldest = Math.max(1, past - CLAIM_RING_SIZE + 1);
  if (oldest > 1) facts.push(`attempts 1 to ${oldest - 1} are older than the row remembers`);
  for (let n = oldest; n <= past; n++)
    if (!known.has(n))
      facts.push(`attempt ${n} left no entry: its claim was released before its worker learned of it`);
  if (job.checkpointSeq > 0)
    facts.push(
      `checkpoint ${job.checkpointSeq} is stored${job.status === 'done' ? '' : ': the next attempt goes on from there'}`,
    );
  if (job.progress !== undefined) facts.push(`progress: ${JSON.stringify(job.progress)}`);
  if (job.cancelRequested && !isFinished(job)) facts.push('an operator asked for its cancellation');
  facts.push(`last changed by ${job.changedBy}`);
  return facts;
}
