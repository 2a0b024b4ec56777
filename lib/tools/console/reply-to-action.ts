import type { Acted } from '../../client/act-on-job.ts';
import { whyRefused } from '../inspect/why-refused.ts';
import type { ActionReply, JobAction } from './page-messages.ts';

const done: Readonly<Record<JobAction, string>> = {
  cancel: 'Cancelled',
  takeBack: 'Taken back from its worker; the next one gets it',
  revive: 'Revived with new budgets; the next worker gets it',
};

export function replyToAction(acted: Acted, action: JobAction): ActionReply {
  switch (acted.outcome) {
    case 'written':
      return {
        ok: true,
        message:
          action === 'cancel' && acted.job.status === 'running'
            ? 'Its worker is asked to stop at its next heartbeat'
            : done[action],
      };
    case 'absent':
      return { ok: false, message: 'There is no such job. Finished jobs are removed after their retention' };
    case 'refused':
      return { ok: false, message: capitalized(whyRefused(action, acted.job)) };
  }
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
