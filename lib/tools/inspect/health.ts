import { recoveryBound, SCHEDULE_JITTER_MS } from '../../settings/recovery-bound.ts';
import type { Settings } from '../../settings/settings.ts';
import { counted, formatCount } from './counted.ts';
import { formatDuration } from './format-duration.ts';
import { type HealthReason, type HealthState, reason } from './health-reason.ts';
import { intakeReasons, type PoolSigns } from './intake-health.ts';
import type { Parked } from './parked.ts';

/** A count that may have stopped at a limit. */
export interface Count {
  readonly count: number;
  readonly complete: boolean;
}

export interface QueueSigns {
  readonly queue?: { readonly visible: number; readonly inFlight: number; readonly delayed: number };
  readonly oldestMessageMs?: number;
  /** How long messages have been seen to wait while no worker took one; absent after a single look. */
  readonly untakenMs?: number;
}

/** Absent means unknown, except for `reaper`. An `Overview` of the client has most of it. */
export interface HealthSigns extends QueueSigns {
  readonly at: number;
  readonly running?: Count;
  readonly pending?: Count;
  /** Earliest lease end among running, and among pending jobs. */
  readonly soonestLeaseEnd?: number;
  readonly soonestHint?: number;
  readonly failed?: Readonly<Record<string, Count>>;
  readonly deadLetters?: { readonly visible: number };
  /** `all` is known only where idle workers can be seen. */
  readonly workers?: { readonly busy: number; readonly all?: number; readonly paused?: number };
  /** Absent means that no reaper has ever swept. */
  readonly reaper?: { readonly wakeAt?: number; readonly ledAt?: number };
  readonly lastHour?: LastHour;
  /** All pools, where there are several; they replace the figures of the queue. */
  readonly pools?: readonly PoolSigns[];
  readonly parked?: Parked;
}

export interface LastHour {
  readonly done?: number;
  readonly failed?: number;
  readonly crashed?: number;
  readonly reclaimed?: number;
  /** The longest time from a lease's end to its reclaim. */
  readonly reclaimDelayMs?: number;
  /** Requests that DynamoDB refused for load. */
  readonly throttled?: number;
  /** Invocations that Lambda refused for want of concurrency, of all functions of the account. */
  readonly refusedInvocations?: number;
}

export interface Health {
  readonly state: HealthState;
  /** `healthy`, or `down because …`. */
  readonly message: string;
  /** The worst first. */
  readonly reasons: readonly HealthReason[];
}

type Bounds = Pick<Settings, 'reaperEnabled' | 'reaperIntervalMs' | 'minSweepIntervalMs' | 'skewMs'>;

/** A wake this late is lost; the next tick of the schedule repairs the chain. */
export const WAKE_LATE_MS = 5_000;
const WORTH_TELLING = 5;
const BAD_SHARE = 0.1;

export function healthOf(signs: HealthSigns, settings: Bounds): Health {
  const reasons = [
    ...intakeReasons(signs),
    ...reaperReasons(signs, settings),
    ...outcomeReasons(signs),
    ...limitReasons(signs),
    ...typeReasons(signs),
  ].sort((a, b) => Number(b.state === 'down') - Number(a.state === 'down'));
  const state = reasons[0]?.state ?? 'healthy';
  const of = reasons.filter((reason) => reason.state === state).map(({ message }) => message);
  return { state, message: of.length === 0 ? state : `${state} because ${of.join('; ')}`, reasons };
}

function reaperReasons(signs: HealthSigns, settings: Bounds): HealthReason[] {
  const { at, reaper, soonestLeaseEnd, soonestHint } = signs;
  const next =
    "look at the reaper function's log and its schedule in EventBridge; until then, 'leasehold doctor --sweep' sweeps once from here";
  if (!settings.reaperEnabled)
    return [
      reason(
        'reaperOff',
        'degraded',
        'the reaper is switched off (reaperEnabled is false)',
        'switch it on again when the reason no longer applies',
      ),
    ];
  const { worstMs } = recoveryBound({ ...settings, leaseMs: 0 });
  const overdue = (
    [
      ['running', 'leasesOverdue', soonestLeaseEnd],
      ['pending', 'hintsOverdue', soonestHint],
    ] as const
  )
    .filter(([, , end]) => end !== undefined && at - end > worstMs)
    .map(([what, code, end = at]) =>
      reason(
        code,
        'down',
        `a ${what} job's lease ended ${formatDuration(at - end)} ago and the reaper has not acted; it acts within ${formatDuration(worstMs)}`,
        next,
      ),
    );
  return [...sweepReasons(reaper, at, settings, next), ...overdue];
}

function sweepReasons(
  reaper: HealthSigns['reaper'],
  at: number,
  { reaperIntervalMs }: Bounds,
  next: string,
): HealthReason[] {
  if (reaper === undefined)
    return [reason('reaperAbsent', 'degraded', 'no reaper has swept this table yet', next)];
  const { wakeAt = 0, ledAt = 0 } = reaper;
  const lastSign = Math.max(wakeAt, ledAt);
  const silentMs = at - lastSign;
  if (lastSign > 0 && silentMs > 2 * reaperIntervalMs + SCHEDULE_JITTER_MS)
    return [
      reason(
        'reaperSilent',
        'down',
        `no reaper has swept for ${formatDuration(silentMs)}; one is started every ${formatDuration(reaperIntervalMs)}`,
        next,
      ),
    ];
  if (wakeAt > 0 && at - wakeAt > WAKE_LATE_MS)
    return [
      reason(
        'reaperLate',
        'degraded',
        `a sweep was due ${formatDuration(at - wakeAt)} ago`,
        `the next tick of the schedule sweeps within ${formatDuration(reaperIntervalMs + SCHEDULE_JITTER_MS)}`,
      ),
    ];
  return [];
}

function outcomeReasons({ lastHour, deadLetters }: HealthSigns): HealthReason[] {
  const { done = 0, failed = 0, crashed = 0, reclaimed = 0 } = lastHour ?? {};
  const lost = crashed + reclaimed;
  const found: HealthReason[] = [];
  if (failed >= WORTH_TELLING && failed >= BAD_SHARE * (failed + done))
    found.push(
      reason(
        'failureRate',
        'degraded',
        `${counted(failed, 'job')} of ${(failed + done).toLocaleString('en-US')} failed in the last hour`,
        "list them with 'leasehold ls --status failed'; fix the cause, deploy, then revive them",
      ),
    );
  if (lost >= WORTH_TELLING && lost >= BAD_SHARE * (lost + done))
    found.push(
      reason(
        'lostWorkers',
        'degraded',
        `${counted(crashed, 'attempt')} crashed and ${counted(reclaimed, 'job was', 'jobs were')} reclaimed in the last hour`,
        'find out what ended the attempts: memory, a native module, or hosts that were stopped',
      ),
    );
  const inDeadLetters = deadLetters?.visible ?? 0;
  if (inDeadLetters > 0)
    found.push(
      reason(
        'deadLetters',
        'degraded',
        `${counted(inDeadLetters, 'message is', 'messages are')} in the dead-letter queue`,
        'its consumer should have turned them into rows; its log names the reason why it does not',
      ),
    );
  return found;
}

function limitReasons({ lastHour, workers }: HealthSigns): HealthReason[] {
  const { throttled = 0, refusedInvocations = 0 } = lastHour ?? {};
  const paused = workers?.paused ?? 0;
  return [
    ...(throttled > 0
      ? [
          reason(
            'throttled',
            'degraded',
            `DynamoDB refused ${counted(throttled, 'request')} for load in the last hour`,
            "the worker's log names the table or index and the kind of limit",
          ),
        ]
      : []),
    ...(refusedInvocations > 0
      ? [
          reason(
            'concurrency',
            'degraded',
            `Lambda refused ${counted(refusedInvocations, 'invocation')} in this account in the last hour: no concurrency was left`,
            "see the limit with 'aws lambda get-account-settings' (new accounts have 10); request a higher one, lower workerConcurrency, or set reaperReservedConcurrency",
          ),
        ]
      : []),
    ...(paused > 0
      ? [
          reason(
            'paused',
            'degraded',
            `${counted(paused, 'worker is', 'workers are')} paused`,
            'resume them in the list of workers',
          ),
        ]
      : []),
  ];
}

function typeReasons({ at, parked }: HealthSigns): HealthReason[] {
  return (parked?.paused ?? []).map(({ type, since, waiting }) =>
    reason(
      'typePaused',
      'degraded',
      `type ${type} was paused ${formatDuration(at - since)} ago; ${formatCount(waiting)} of its jobs wait`,
      `'leasehold resume ${type}' lets them run`,
    ),
  );
}
