import { hintDelaySecondsOf, planDispatch } from '../protocol/decisions/dispatch.ts';
import type { OperatorAct } from '../protocol/job.ts';
import type { Clock, Events, JobQueue, JobStore, OperatorOutcome } from '../protocol/ports.ts';
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

export type Acted = OperatorOutcome & {
  /** Why the hint could not be sent: the reaper sends one, a little later. */
  readonly hintFailed?: string;
};

/** Carries out an operator's act by one conditional write, and sends the hint that it asks for. */
export async function actOnJob(parts: ActParts, jobId: string, act: OperatorAct['act']): Promise<Acted> {
  const { store, clock, settings } = parts;
  if (act === 'cancel') return cancel(parts, jobId);
  const queue = parts.queue();
  const now = clock.now();
  const outcome = await (act === 'revive'
    ? store.revive(jobId, planDispatch(now, now, settings))
    : store.takeBack(jobId));
  if (outcome.outcome !== 'written' || outcome.job.status !== 'pending') return outcome;
  const delaySeconds = hintDelaySecondsOf(outcome.job, clock.now());
  const { failed, reason } = await queue.sendHints([{ jobId, type: outcome.job.type, delaySeconds }]);
  return failed.length === 0 ? outcome : { ...outcome, hintFailed: reason ?? 'no reason given' };
}

async function cancel({ store, events, clock }: ActParts, jobId: string): Promise<Acted> {
  const outcome = await store.cancel(jobId);
  if (outcome.outcome === 'written' && outcome.job.status === 'cancelled')
    await events?.publish([
      { name: 'JobCancelled', detail: { ...eventDetailOf(outcome.job), at: clock.now() } },
    ]);
  return outcome;
}
