import { isPauseGroup, partsOfGroup } from '../../../../wire/limits.ts';
import { counted } from '../../../inspect/counted.ts';
import { leasePhase } from '../../../inspect/lease-phase.ts';
import { nameOfGroup } from '../../../inspect/parked.ts';
import type { FailureKind } from '../../../inspect/why-failed.ts';
import type { Hello, JobSummary } from '../../page-messages.ts';
import { age } from '../format.ts';

export const failureWords: Readonly<Record<FailureKind, string>> = {
  rejected: 'rejected',
  quarantined: 'quarantined',
  nonRetryable: 'not retried',
  attemptsUsedUp: 'attempts used up',
  other: 'failed',
};

type Margins = Pick<Hello, 'skewMs'>;
const NO_MARGINS: Margins = { skewMs: 0 };

export function lossOf(
  job: JobSummary,
  now: number,
  isOwnerGone: boolean,
  margins: Margins = NO_MARGINS,
): string | undefined {
  const { leaseUntil = 0 } = job;
  if (job.status !== 'running') return undefined;
  if (!isOwnerGone && leasePhase(leaseUntil, now, margins) === 'live') return undefined;
  const leftMs = leaseUntil + margins.skewMs - now;
  return leftMs > 0 ? `worker lost · reclaim in ${Math.ceil(leftMs / 1000)} s` : 'worker lost · reclaim due';
}

export const recoveryOf = (job: JobSummary): string | undefined =>
  job.status === 'running' && job.attempt > 1 && job.lastError !== undefined
    ? `${job.lastError} · running again`
    : undefined;

function parkedWords(waitsFor: string): string {
  const group = nameOfGroup(partsOfGroup(waitsFor));
  return isPauseGroup(waitsFor) ? `parked · ${group} is paused` : `parked · waits for a place of ${group}`;
}

export function situationOf(job: JobSummary, now: number, ownerName: (owner: string) => string): string {
  const error = job.lastError ?? '';
  switch (job.status) {
    case 'pending': {
      if (job.waitsFor !== undefined) return parkedWords(job.waitsFor);
      const isDue = job.notBefore === undefined || job.notBefore <= now;
      const waits = isDue ? 'waiting for a worker' : `due ${age(job.notBefore ?? 0, now)}`;
      return error === '' ? waits : `${error} · ${waits}`;
    }
    case 'failed':
      return [
        failureWords[job.failure ?? 'other'],
        error || (job.isErrorUnread ? 'reading its error…' : counted(job.crashes, 'crash', 'crashes')),
      ].join(' · ');
    case 'done':
      return job.leaseOwner === undefined ? '' : `by ${ownerName(job.leaseOwner)}`;
    case 'cancelled':
      return 'by an operator';
    case 'running':
      return '';
  }
}
