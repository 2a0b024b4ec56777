import type { Settings } from '../../settings/settings.ts';
import { isPauseGroup } from '../../wire/limits.ts';
import { MAX_HINT_DELAY_MS } from '../../wire/queues.ts';

/** How a pending job reaches its next worker: by a hint in the queue, or by the reaper once due. */
export interface Dispatch {
  readonly notBefore: number;
  /** End of the queue's lease, when the reaper acts on an unclaimed job. */
  readonly leaseUntil: number;
  readonly dispatches: number;
  /** Undefined: the reaper sends the hint from `leaseUntil` on. */
  readonly hintDelaySeconds?: number;
}

export const hintDelaySecondsOf = (job: { readonly notBefore: number }, now: number): number =>
  Math.ceil(Math.max(0, job.notBefore - now) / 1000);

export type DispatchSettings = Pick<Settings, 'dispatchLeaseMs' | 'dispatchLeaseCapMs' | 'reaperIntervalMs'>;

/** EventBridge Scheduler is precise to 60 s. */
const TICK_JITTER_MS = 60_000;

/** Two ticks ahead, with the rest as message delay, so that a sweep once a minute is on time. */
const dispatchedAheadMs = ({ reaperIntervalMs }: DispatchSettings): number =>
  Math.min(2 * reaperIntervalMs + TICK_JITTER_MS, MAX_HINT_DELAY_MS);

export function planDispatch(now: number, notBefore: number, settings: DispatchSettings): Dispatch {
  const due = Math.max(now, notBefore);
  const delayMs = due - now;
  if (delayMs > MAX_HINT_DELAY_MS)
    return { notBefore: due, leaseUntil: due - dispatchedAheadMs(settings), dispatches: 0 };
  return {
    notBefore: due,
    leaseUntil: due + settings.dispatchLeaseMs,
    dispatches: 1,
    hintDelaySeconds: Math.ceil(delayMs / 1000),
  };
}

/** Delayed, so that a late repeat of the claim, which carries its first send time, is refused as too early. */
export const planTakeBack = (
  startedAt: number,
  now: number,
  settings: DispatchSettings & Pick<Settings, 'skewMs'>,
): Dispatch => planDispatch(now, startedAt + 2 * settings.skewMs + 1, settings);

/** A place may become free unnoticed, so a parked job checks at least this often. */
const MAX_PARKED_LEASE_MS = 5 * 60_000;
const PAUSED_LEASE_MS = 4 * 3_600_000;
/** By then the index shows the job, and its place is handed over or free. */
const PARKED_HINT_SECONDS = 2;

export const planPark = (
  now: number,
  { waitsFor, notBefore = now }: { readonly waitsFor: string; readonly notBefore?: number },
  settings: DispatchSettings,
): Dispatch => ({
  notBefore,
  leaseUntil: now + dispatchLeaseOf(waitsFor, 0, settings),
  dispatches: 1,
  hintDelaySeconds: PARKED_HINT_SECONDS,
});

/** Doubles each time, so that a backlog does not multiply its messages. */
function dispatchLeaseOf(
  waitsFor: string | undefined,
  dispatches: number,
  { dispatchLeaseMs, dispatchLeaseCapMs }: DispatchSettings,
): number {
  if (waitsFor !== undefined && isPauseGroup(waitsFor)) return PAUSED_LEASE_MS;
  const cap = waitsFor === undefined ? dispatchLeaseCapMs : MAX_PARKED_LEASE_MS;
  return Math.min(dispatchLeaseMs * 2 ** dispatches, cap);
}

export function planRedispatch(
  now: number,
  entry: { readonly notBefore: number; readonly dispatches: number; readonly waitsFor?: string },
  settings: DispatchSettings,
): Dispatch {
  const { notBefore, dispatches, waitsFor } = entry;
  const delayMs = Math.max(0, notBefore - now);
  if (delayMs > MAX_HINT_DELAY_MS)
    return { notBefore, leaseUntil: notBefore - dispatchedAheadMs(settings), dispatches };
  return {
    notBefore,
    leaseUntil: now + delayMs + dispatchLeaseOf(waitsFor, dispatches, settings),
    dispatches: dispatches + 1,
    hintDelaySeconds: Math.ceil(delayMs / 1000),
  };
}
