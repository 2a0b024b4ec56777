import type { LeaseEntry } from '../protocol/job.ts';
import type { ReapAction } from '../protocol/writes/reaper-writes.ts';
import { eventDetailOf, type LeaseholdEvent } from '../wire/events.ts';
import type { BreakerVerdict } from './breaker.ts';
import type { ReaperDeps } from './deps.ts';
import type { SweepResult } from './sweep.ts';
import { changes, type SweepTally } from './sweep-counts.ts';

/** The events that tell of one written verdict. */
export function eventsOf(entry: LeaseEntry, action: ReapAction, at: number): LeaseholdEvent[] {
  if (action.kind === 'redispatch') return [];
  const found = { ...eventDetailOf(entry), at };
  if (action.kind === 'cancel') return [{ name: 'JobCancelled', detail: found }];
  const detail = { ...found, crashes: action.crashes, releases: action.releases };
  if (action.kind === 'reclaim')
    return [{ name: 'JobReclaimed', detail: { ...detail, reclaimDelayMs: at - entry.leaseUntil } }];
  const ended = { ...detail, lastError: action.lastError };
  return [
    { name: 'JobFailed', detail: ended },
    ...(action.quarantined ? [{ name: 'JobQuarantined' as const, detail: ended }] : []),
  ];
}

/**
 * Metrics of every sweep, and one log line for each that did or met something. A sweep that left the pending shards out is no
 * sign of life: were the schedule switched off, wakes alone would go on, and pending jobs would wait for ever.
 */
export function reportSweep(
  { telemetry }: Pick<ReaperDeps, 'telemetry'>,
  result: SweepResult,
  { firstError, isWhole }: Pick<SweepTally, 'firstError'> & { readonly isWhole: boolean },
): void {
  const counted = {
    JobsReclaimed: result.reclaimed,
    JobsCrashed: result.reclaimed + result.quarantined,
    JobsFailed: result.failed,
    JobsQuarantined: result.quarantined,
    JobsCancelled: result.cancelled,
    HintsSent: result.hintsSent,
    // Who never gets a hint does not run, as if its row could not be read.
    StoreFailures: result.hintsFailed,
  } as const;
  for (const [metric, value] of Object.entries(counted))
    if (value > 0) telemetry.count(metric as keyof typeof counted, value);
  if (isWhole) telemetry.gauge('SweepDuration', result.durationMs);
  // A metric that is always there is paid for: the others come only when there is something to tell.
  if (result.oldestLapsedMs > 0) telemetry.gauge('OldestLapsedLease', result.oldestLapsedMs);
  if (result.breakerOpen) telemetry.gauge('BreakerOpen', 1);

  const fields = logFields(result, firstError);
  const trouble = result.errors + result.skipped.unwritten + result.hintsFailed + result.skipped.stopped;
  if (result.reclaimed + result.failed > 0) telemetry.info('released stale running jobs', fields);
  else if (changes(result) > 0) telemetry.info('dispatched waiting jobs', fields);
  else if (trouble > 0) telemetry.warn('sweep left rows behind', fields);
}

function logFields(result: SweepResult, firstError: Error | undefined) {
  const { nextLapseAt: _next, nextDueAt: _due, skipped, ...counts } = result;
  return {
    count: result.reclaimed,
    ...counts,
    skipped: Object.fromEntries(Object.entries(skipped).filter(([, number]) => number > 0)),
    reason: firstError?.message,
  };
}

/** Tells of a breaker that opened or closed. */
export function reportBreaker(
  { telemetry }: Pick<ReaperDeps, 'telemetry'>,
  verdict: BreakerVerdict,
  at: number,
): LeaseholdEvent[] {
  const { change, lapsed, live, budget } = verdict;
  if (change === undefined) return [];
  if (change === 'closed') {
    telemetry.info('breaker closed: jobs are reclaimed at full speed again', { lapsed });
    return [];
  }
  telemetry.warn('breaker opened: most running leases lapsed at once, so crashes are not charged', {
    lapsed,
    live,
    jobsPerSweep: budget,
  });
  return [{ name: 'ReaperBreakerOpened', detail: { lapsed, live, at } }];
}

/** Tells of a reaper that does not act because its clock is wrong. */
export function reportUnsoundClock({
  telemetry,
  clockGuard,
  settings,
}: Pick<ReaperDeps, 'telemetry' | 'clockGuard' | 'settings'>): void {
  const offset = clockGuard?.offset();
  telemetry.gauge('ClockOffset', offset?.offsetMs ?? 0);
  telemetry.warn('clock differs too much from the store’s: nothing is swept', {
    offsetMs: offset?.offsetMs,
    uncertaintyMs: offset?.uncertaintyMs,
    allowedMs: settings.skewMs / 2,
  });
}
