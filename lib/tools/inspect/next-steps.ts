import { decideReap, lapseLimit, lapsesAt } from '../../protocol/decisions/decide-reap.ts';
import {
  type FinishedJob,
  type Job,
  leaseEntryOf,
  type PendingJob,
  type RunningJob,
} from '../../protocol/job.ts';
import { recoveryBound } from '../../settings/recovery-bound.ts';
import type { Settings } from '../../settings/settings.ts';
import { isPauseGroup, partsOfGroup } from '../../wire/limits.ts';
import { times } from './counted.ts';
import { formatDuration } from './format-duration.ts';
import { remedyFor } from './last-ending.ts';
import { nameOfGroup, tellPlace, tellPool, type Wait } from './parked.ts';

export interface NextStep {
  readonly what:
    | 'nothing'
    | 'removal'
    | 'cancelSeen'
    | 'leaseEnd'
    | 'reclaimable'
    | 'recovered'
    | 'overdue'
    | 'cancelled'
    | 'due'
    | 'dispatch'
    | 'claim'
    | 'parked'
    | 'nextHint';
  /** Undefined if it is not tied to a time. */
  readonly at?: number;
  readonly message: string;
}

export function nextSteps(job: Job, now: number, settings: Settings, wait: Wait = {}): NextStep[] {
  switch (job.status) {
    case 'running':
      return nextOfRunning(job, now, settings);
    case 'pending':
      return nextOfPending(job, now, settings, wait);
    case 'done':
    case 'failed':
    case 'cancelled':
      return [
        { what: 'nothing', message: nextOfFinished(job) },
        {
          what: 'removal',
          at: job.expiresAt * 1000,
          message: 'the row expires; DynamoDB removes it some time later',
        },
      ];
  }
}

function nextOfFinished(job: FinishedJob): string {
  if (job.status === 'done')
    return `nothing: it is done${job.crashes > 0 ? `, although it crashed ${times(job.crashes)}` : ''}`;
  if (job.status === 'failed' && job.rawMessage !== undefined)
    return 'nothing: this message cannot be read, so it cannot be revived; have its producer send a valid one';
  if (job.status === 'failed')
    return `nothing until you act. ${remedyFor(job)}; then run 'leasehold revive ${job.jobId}'`;
  return `nothing, until an operator runs 'leasehold revive ${job.jobId}'`;
}

/** When the reaper will have acted if the worker is dead. */
const recoveredBy = (job: RunningJob, settings: Settings): number =>
  job.leaseUntil + recoveryBound({ ...settings, leaseMs: 0 }).worstMs;

function nextOfRunning(job: RunningJob, now: number, settings: Settings): NextStep[] {
  const lapse = lapsesAt(job, settings);
  const by = recoveredBy(job, settings);
  const then: NextStep = {
    what: 'recovered',
    at: by,
    message: `if the worker is dead, the reaper has acted by then: ${verdictOf(job, lapse, settings)}`,
  };
  const cancel: NextStep[] = job.cancelRequested
    ? [{ what: 'cancelSeen', message: 'the worker sees the cancellation in the reply to its next heartbeat' }]
    : [];
  if (now < job.leaseUntil)
    return [
      ...cancel,
      {
        what: 'leaseEnd',
        at: job.leaseUntil,
        message: 'its lease ends, unless a heartbeat renews it before then',
      },
      then,
    ];
  if (now < by)
    return [
      ...cancel,
      { what: 'reclaimable', at: lapse, message: 'its lease has ended; the reaper may reclaim it' },
      then,
    ];
  return [
    ...cancel,
    {
      what: 'overdue',
      at: by,
      message:
        "OVERDUE: the reaper should have reclaimed it by then. Run 'leasehold doctor', or 'leasehold doctor --sweep' to sweep now",
    },
  ];
}

function nextOfPending(job: PendingJob, now: number, settings: Settings, wait: Wait): NextStep[] {
  if (job.cancelRequested)
    return [
      {
        what: 'cancelled',
        at: job.leaseUntil,
        message: 'the next worker or sweep that handles it cancels it',
      },
    ];
  const due: NextStep[] =
    now < job.notBefore ? [{ what: 'due', at: job.notBefore, message: 'it becomes due' }] : [];
  if (job.dispatches === 0 && now < job.leaseUntil)
    return [
      ...due,
      {
        what: 'dispatch',
        at: job.leaseUntil,
        message: 'the reaper sends it to the queue (SQS itself holds nothing that long)',
      },
    ];
  const { worstMs } = recoveryBound({ ...settings, leaseMs: 0, skewMs: 0 });
  const isOverdue = now > job.leaseUntil + worstMs;
  return [
    ...due,
    job.waitsFor === undefined
      ? {
          what: 'claim',
          message: `a worker${poolOf(wait)} claims it as soon as it receives its hint from the queue (sent ${times(job.dispatches)})`,
        }
      : {
          what: 'parked',
          message: `it ${tellWait(job.waitsFor, wait, now)}${wait.pool === undefined ? '' : ` (${tellPool(wait.pool)})`}`,
        },
    {
      what: isOverdue ? 'overdue' : 'nextHint',
      at: job.leaseUntil,
      message: isOverdue
        ? "OVERDUE: the reaper should have sent another hint. Run 'leasehold doctor', or 'leasehold doctor --sweep' to sweep now"
        : 'if no worker has claimed it, the reaper sends another hint',
    },
  ];
}

const poolOf = ({ pool }: Wait): string => (pool === undefined ? '' : ` of ${tellPool(pool)},`);

function tellWait(waitsFor: string, { place, pausedAt }: Wait, now: number): string {
  const { type, key } = partsOfGroup(waitsFor);
  if (!isPauseGroup(waitsFor))
    return place === undefined ? `waits for a place of ${nameOfGroup({ type, key })}` : tellPlace(place);
  return pausedAt === undefined
    ? `waited while ${type} was paused, and runs with its next hint`
    : `waits because ${type} was paused ${formatDuration(now - pausedAt)} ago; 'leasehold resume ${type}' lets it run`;
}

function verdictOf(job: RunningJob, lapse: number, settings: Settings): string {
  const verdict = decideReap(leaseEntryOf(job), { now: lapse, random: 0, settings });
  const limit = lapseLimit(job, settings);
  if (verdict.kind === 'reclaim') return `given to the next worker (lapse ${verdict.lapses} of ${limit})`;
  if (verdict.kind === 'quarantine') return `quarantined: lapse ${verdict.lapses} of ${limit}`;
  // A running job always gets a decision when it lapses.
  return 'cancelled, as an operator asked';
}
