import { hintDelaySecondsOf, planDispatch } from '../protocol/decisions/dispatch.ts';
import type { Clock, JobQueue, JobStore, OperatorOutcome } from '../protocol/ports.ts';
import type { Settings } from '../settings/settings.ts';
import type { ActionReply, JobAction } from './protocol.ts';

export interface ActionParts {
  readonly store: Pick<JobStore, 'cancel' | 'revive' | 'takeBack'>;
  readonly queue: Pick<JobQueue, 'sendHints'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly settings: Settings;
}

const done: Readonly<Record<JobAction, string>> = {
  cancel: 'Cancelled',
  takeBack: 'Taken from its worker and given to the next',
  retry: 'Sent to the next worker, with new budgets',
  revive: 'Sent to the next worker, with new budgets',
};

/** Carries out an operator's wish by the same conditional writes as the CLI, and says what came of it. */
export async function actOnJob(parts: ActionParts, jobId: string, action: JobAction): Promise<ActionReply> {
  const { store, queue, clock, settings } = parts;
  const dispatch = planDispatch(clock.now(), clock.now(), settings);
  const outcome = await write();
  const reply = replyTo(outcome, action);
  if (outcome.outcome === 'written' && outcome.job.status === 'pending' && action !== 'cancel')
    await queue.sendHints([{ jobId, delaySeconds: hintDelaySecondsOf(outcome.job, clock.now()) }]);
  return reply;

  function write(): Promise<OperatorOutcome> {
    switch (action) {
      case 'cancel':
        return store.cancel(jobId);
      case 'takeBack':
        return store.takeBack(jobId);
      case 'retry':
      case 'revive':
        return store.revive(jobId, dispatch);
    }
  }
}

function replyTo(outcome: OperatorOutcome, action: JobAction): ActionReply {
  switch (outcome.outcome) {
    case 'written':
      return {
        ok: true,
        message:
          action === 'cancel' && outcome.job.status === 'running'
            ? 'Its worker is asked to stop with the next heartbeat'
            : done[action],
      };
    case 'absent':
      return {
        ok: false,
        message: 'There is no such job; it may have been deleted at the end of its retention',
      };
    case 'refused':
      return {
        ok: false,
        message: `The job is ${outcome.job.status}; ${action} does not lead on from there`,
      };
  }
}
