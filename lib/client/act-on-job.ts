import { hintDelaySecondsOf } from '../protocol/decisions/dispatch.ts';
import type { OperatorAct } from '../protocol/job.ts';
import type { Clock, Events, Hint, JobQueue, JobStore, OperatorOutcome } from '../protocol/ports.ts';
import type { Settings } from '../settings/settings.ts';
import { eventDetailOf } from '../wire/events.ts';

export interface ActParts {
  readonly store: Pick<JobStore, 'cancel' | 'revive' | 'takeBack'>;
  /** Called before any write: without a queue for its hint, no action starts. */
  queue(): Pick<JobQueue, 'sendHints'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly settings: Settings;
  /** Publishes JobCancelled for a job that no worker ran. */
  readonly events?: Events;
}

/** How to revive a job. */
export interface ReviveOptions {
  /** Ignore the job's start time. @default false */
  readonly now?: boolean;
}

export type Acted = OperatorOutcome & {
  /** Why the hint failed; the reaper sends another. */
  readonly hintFailed?: string;
};

export async function actOnJob(
  parts: ActParts,
  jobId: string,
  act: OperatorAct['act'],
  options: ReviveOptions = {},
): Promise<Acted> {
  const { store, clock } = parts;
  if (act === 'cancel') return cancel(parts, jobId);
  const queue = parts.queue();
  const outcome = await (act === 'revive' ? store.revive(jobId, options) : store.takeBack(jobId));
  const hints = hintsFor(outcome, clock.now());
  if (hints.length === 0) return outcome;
  const { failed, reason } = await queue.sendHints(hints);
  return failed.length === 0 ? outcome : { ...outcome, hintFailed: reason ?? 'no reason given' };
}

/** The reaper dispatches a job due later than SQS can delay. */
export const hintsFor = (outcome: OperatorOutcome, now: number): Hint[] =>
  outcome.outcome === 'written' && outcome.job.status === 'pending' && outcome.job.dispatches > 0
    ? [
        {
          jobId: outcome.job.jobId,
          type: outcome.job.type,
          key: outcome.job.key,
          delaySeconds: hintDelaySecondsOf(outcome.job, now),
        },
      ]
    : [];

async function cancel({ store, events, clock }: ActParts, jobId: string): Promise<Acted> {
  const outcome = await store.cancel(jobId);
  if (outcome.outcome === 'written' && outcome.job.status === 'cancelled')
    await events?.publish([
      { name: 'JobCancelled', detail: { ...eventDetailOf(outcome.job), at: clock.now() } },
    ]);
  return outcome;
}
