import type { LeaseEntry } from '../protocol/job.ts';
import type { ReapAction } from '../protocol/writes/reaper-writes.ts';
import { eventDetailOf, type LeaseholdEvent } from '../wire/events.ts';
import type { ReaperDeps } from './deps.ts';
import type { SweepResult } from './sweep.ts';
import { changes, type SweepTally } from './sweep-counts.ts';

export function eventsOf(entry: LeaseEntry, action: ReapAction, at: number): LeaseholdEvent[] {
  if (action.kind === 'redispatch') return [];
  const found = { ...eventDetailOf(entry), at };
  if (action.kind === 'cancel') return [{ name: 'JobCancelled', detail: found }];
  const detail = { ...found, lapses: action.lapses };
  if (action.kind === 'reclaim')
    return [{ name: 'JobReclaimed', detail: { ...detail, reclaimDelayMs: at - entry.leaseUntil } }];
  const ended = { ...detail, lastError: action.lastError };
  return [
    { name: 'JobFailed', detail: ended },
    { name: 'JobQuarantined', detail: ended },
  ];
}

export function reportSweep(
  { telemetry }: Pick<ReaperDeps, 'telemetry'>,
  result: SweepResult,
  { firstError }: Pick<SweepTally, 'firstError'>,
): void {
  const counted = {
    JobsReclaimed: result.reclaimed,
    JobsCrashed: result.reclaimed + result.quarantined,
    JobsFailed: result.quarantined,
    JobsQuarantined: result.quarantined,
    JobsCancelled: result.cancelled,
    HintsSent: result.hintsSent,
    // A job without a hint does not run, like one whose row is unreadable.
    StoreFailures: result.hintsFailed,
  } as const;
  for (const [metric, value] of Object.entries(counted))
    if (value > 0) telemetry.count(metric as keyof typeof counted, value);
  // Each emitted metric costs money.
  if (result.oldestLapsedMs > 0) telemetry.gauge('OldestLapsedLease', result.oldestLapsedMs);

  const { nextLapseAt: _, mayHoldParked: _parked, skipped, ...counts } = result;
  const fields = {
    count: result.reclaimed,
    ...counts,
    skipped: Object.fromEntries(Object.entries(skipped).filter(([, number]) => number > 0)),
    reason: firstError?.message,
  };
  const trouble = result.errors + skipped.unwritten + result.hintsFailed + skipped.stopped;
  if (result.reclaimed + result.quarantined > 0) telemetry.info('reclaimed lapsed jobs', fields);
  else if (changes(result) > 0) telemetry.info('sent hints for waiting jobs', fields);
  else if (trouble > 0) telemetry.warn('sweep left rows behind', fields);
}

export function reportUnsoundClock({ telemetry, clockGuard, settings }: ReaperDeps): void {
  const offset = clockGuard?.offset();
  telemetry.gauge('ClockOffset', offset?.offsetMs ?? 0);
  telemetry.warn('clock differs too much from the store’s: nothing is swept', {
    offsetMs: offset?.offsetMs,
    uncertaintyMs: offset?.uncertaintyMs,
    allowedMs: settings.skewMs / 2,
  });
}
