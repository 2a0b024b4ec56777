import type { Settings } from '../../settings/settings.ts';
import { MAX_HINT_DELAY_MS } from '../../wire/queues.ts';

/** How a pending job reaches its next worker: by a hint in the queue, or by the reaper once it is due. */
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

/** The reaper hints two ticks ahead, with the rest as message delay, so that a once-a-minute look is on time. */
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

/** Delays the job so that a frozen worker's repeated claim, stamped with its first send time, comes too early. */
export const planTakeBack = (
  startedAt: number,
  now: number,
  settings: DispatchSettings & Pick<Settings, 'skewMs'>,
): Dispatch => planDispatch(now, startedAt + 2 * settings.skewMs + 1, settings);

/** The queue's lease doubles each time, so that a backlog does not multiply its messages. */
export function planRedispatch(
  now: number,
  entry: { readonly notBefore: number; readonly dispatches: number },
  settings: DispatchSettings,
): Dispatch {
  const { notBefore, dispatches } = entry;
  const delayMs = Math.max(0, notBefore - now);
  if (delayMs > MAX_HINT_DELAY_MS)
    return { notBefore, leaseUntil: notBefore - dispatchedAheadMs(settings), dispatches };
  const lease = Math.min(settings.dispatchLeaseMs * 2 ** dispatches, settings.dispatchLeaseCapMs);
  return {
    notBefore,
    leaseUntil: now + delayMs + lease,
    dispatches: dispatches + 1,
    hintDelaySeconds: Math.ceil(delayMs / 1000),
  };
}
