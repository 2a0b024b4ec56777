import type { JobDetail } from '../protocol.ts';
import { duration } from './format.ts';
import { reclaimableAt } from './lease-bar.tsx';
import { ownerName } from './store.ts';

/** In one sentence, what is the case and what happens next. */
export function whatNext(detail: JobDetail, now: number): string {
  const { job } = detail;
  switch (job.status) {
    case 'running':
      return running(detail, now);
    case 'pending':
      if (job.notBefore !== undefined && job.notBefore > now)
        return `Not before ${duration(job.notBefore - now)} from now.`;
      return job.attempt === 0
        ? 'A hint is in the queue; the next free worker claims it.'
        : 'A hint is in the queue; the next free worker goes on with it.';
    case 'done':
      return job.crashes > 0
        ? `Finished by attempt ${job.attempt}, though ${job.crashes === 1 ? 'a worker' : `${job.crashes} workers`} died with it.`
        : `Finished by attempt ${job.attempt}.`;
    case 'failed':
      if (job.jobId.startsWith('bad:')) return 'The message could not be read as a job. Its text is below.';
      return job.crashes >= detail.maxCrashes
        ? `Quarantined: it killed its worker ${job.crashes} times, and is kept away from others.`
        : 'It has spent its attempts, or said that another one is of no use.';
    case 'cancelled':
      return 'Ended by an operator.';
  }
}

function running({ job }: JobDetail, now: number): string {
  const who = job.leaseOwner === undefined ? 'a worker' : ownerName(job.leaseOwner);
  const leaseUntil = job.leaseUntil ?? 0;
  if (leaseUntil < now)
    return reclaimableAt(job) > now
      ? `No heartbeat came from ${who}: its lease has lapsed. The reaper waits for the allowed clock skew.`
      : `No heartbeat came from ${who}: the reaper gives the job to the next worker.`;
  return job.cancelRequested
    ? `${who} learns with its next heartbeat that it was cancelled.`
    : `${who} holds it. Without another heartbeat, the next worker gets it.`;
}
