import { isFinished, type Job, type OperatorAct } from '../../protocol/job.ts';

const CHANGED = 'it has just changed; look at it again';

export function whyRefused(act: OperatorAct['act'], job: Job): string {
  switch (act) {
    case 'cancel':
      return isFinished(job) ? `cannot cancel a ${job.status} job` : CHANGED;
    case 'takeBack':
      return job.status === 'running'
        ? CHANGED
        : `cannot take back a ${job.status} job; only a running one has a worker`;
    case 'revive':
      return whyNotRevived(job);
  }
}

function whyNotRevived(job: Job): string {
  switch (job.status) {
    case 'pending':
    case 'running':
      return `cannot revive a ${job.status} job`;
    case 'done':
      return 'cannot revive a done job; send it under a new id to run it again';
    case 'failed':
      return job.rawMessage === undefined
        ? CHANGED
        : 'cannot revive a message that could not be read; have its producer send a valid one';
    case 'cancelled':
      return CHANGED;
  }
}
