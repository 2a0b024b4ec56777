import { whyRefused } from '../inspect/why-refused.ts';
import { hintDelaySecondsOf, planDispatch } from '../protocol/decisions/dispatch.ts';
import type { Clock, JobQueue, JobStore, OperatorOutcome } from '../protocol/ports.ts';
import type { Settings } from '../settings/settings.ts';
import type { ActionReply, JobAction } from './page-messages.ts';

export interface ActionParts {
  readonly store: Pick<JobStore, 'cancel' | 'revive' | 'takeBack'>;
  readonly queue: Pick<JobQueue, 'sendHints'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly settings: Settings;
}

const done: Readonly<Record<JobAction, string>> = {
  cancel: 'Cancelled',
  takeBack: 'Taken back from its worker; the next one gets it',
  revive: 'Revived with new budgets; the next worker gets it',
};

/** Carries out an operator's act with the same conditional writes as the CLI, and says what happened. */
export async function actOnJob(parts: ActionParts, jobId: string, action: JobAction): Promise<ActionReply> {
  const { queue, clock } = parts;
  const outcome = await write(parts, jobId, action);
  if (outcome.outcome === 'written' && outcome.job.status === 'pending' && action !== 'cancel')
    await queue.sendHints([{ jobId, delaySeconds: hintDelaySecondsOf(outcome.job, clock.now()) }]);
  return replyTo(outcome, action);
}

function write(
  { store, clock, settings }: ActionParts,
  jobId: string,
  action: JobAction,
): Promise<OperatorOutcome> {
  switch (action) {
    case 'cancel':
      return store.cancel(jobId);
    case 'takeBack':
      return store.takeBack(jobId);
    case 'revive':
      return store.revive(jobId, planDispatch(clock.now(), clock.now(), settings));
  }
}

function replyTo(outcome: OperatorOutcome, action: JobAction): ActionReply {
  switch (outcome.outcome) {
    case 'written':
      return {
        ok: true,
        message:
          action === 'cancel' && outcome.job.status === 'running'
            ? 'Its worker is told to stop with the reply to its next heartbeat'
            : done[action],
      };
    case 'absent':
      return { ok: false, message: 'There is no such job. Finished jobs are removed after their retention' };
    case 'refused':
      return { ok: false, message: capitalised(whyRefused(action, outcome.job)) };
  }
}

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
