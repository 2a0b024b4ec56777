import type { Settings } from '../../settings/settings.ts';
import { MAX_HINT_DELAY_MS } from '../../wire/queues.ts';

/** How a pending job comes to its next worker: by a hint in the queue, or by the reaper once it is due. */
export interface Dispatch {
  readonly notBefore: number;
  /** The end of the queue's lease: when the reaper must act if no worker has claimed by then. */
  readonly leaseUntil: number;
  readonly dispatches: number;
  /** Undefined: no hint now, the reaper sends it from `leaseUntil` on. */
  readonly hintDelaySeconds?: number;
}

/** When the hint for a job that is pending now is to be seen. */
export const hintDelaySecondsOf = (job: { readonly notBefore: number }, now: number): number =>
  Math.ceil(Math.max(0, job.notBefore - now) / 1000);

export type DispatchSettings = Pick<
  Settings,
  'dispatchLeaseMs' | 'dispatchLeaseCapMs' | 'reaperIntervalMs' | 'timeScale'
>;

/** How late the schedule may start a reaper: EventBridge Scheduler is precise to 60 s. */
const TICK_JITTER_MS = 60_000;

/**
 * So long before a job is due the reaper sends its hint, with the rest as the message's delay: two ticks of the schedule, the
 * latest that they can be. So a job is on time although pending rows are looked at only once a minute.
 */
const dispatchedAheadMs = ({ reaperIntervalMs, timeScale }: DispatchSettings): number =>
  Math.min(2 * reaperIntervalMs + TICK_JITTER_MS / timeScale, MAX_HINT_DELAY_MS);

/** The first dispatch of a job that becomes pending now. */
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

/**
 * The dispatch of a job that is taken from its worker, which may be frozen with a repeat of its claim still to be sent. The
 * repeat says when the claim was first sent; the job is due so long after that, that the repeat is refused as too early
 * even when another worker has claimed and released the job in between.
 */
export const planTakeBack = (
  startedAt: number,
  now: number,
  settings: DispatchSettings & Pick<Settings, 'skewMs'>,
): Dispatch => planDispatch(now, startedAt + 2 * settings.skewMs + 1, settings);

/**
 * The next hint for a job that the queue seems to have forgotten, or the first for one that is due soon. The queue's lease
 * doubles each time, so that a backlog of waiting jobs does not multiply its own messages.
 */
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
