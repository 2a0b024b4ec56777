import { hintDelaySecondsOf } from '../protocol/decisions/dispatch.ts';
import type { OperatorAct } from '../protocol/job.ts';
import type { Clock, Events, Hint, JobQueue, JobStore, OperatorOutcome } from '../protocol/ports.ts';
import type { Settings } from '../settings/settings.ts';
import { eventDetailOf } from '../wire/events.ts';

export interface ActParts {
  readonly store: Pick<JobStore, 'cancel' | 'revive' | 'takeBack'>;
  /** Asked for before anything is written: an act without a queue for its hint is not begun. */
  queue(): Pick<JobQueue, 'sendHints'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly settings: Settings;
  /** Told of a job that was cancelled before it ran: no worker sees its end. */
  readonly events?: Events;
}

/** How a job is revived. */
export interface ReviveOptions {
  /** Run it at once, also if it was to run later. @default - when it was to run */
  readonly now?: boolean;
}

export type Acted = OperatorOutcome & {
  /** Why the hint could not be sent: the reaper sends one, a little later. */
  readonly hintFailed?: string;
};

/** Carries out an operator's act by one conditional write, and sends the hint that it asks for. */
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

/** The hint that an act asks for; none for a job that is due later than SQS can hold one, which the reaper dispatches. */
export const hintsFor = (outcome: OperatorOutcome, now: number): Hint[] =>
  outcome.outcome === 'written' && outcome.job.status === 'pending' && outcome.job.dispatches > 0
    ? [
        {
          jobId: outcome.job.jobId,
          type: outcome.job.type,
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
