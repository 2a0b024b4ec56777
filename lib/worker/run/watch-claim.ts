import type { Clock } from '../../protocol/ports.ts';
import { type AbortReason, LeaseLost, TimedOut } from '../abort-reasons.ts';
import type { LeaseClock } from './lease-clock.ts';

/** The claim is looked at this often at least, because a wall clock can be set while nobody waits for it. */
const LOOK_MS = 1000;
/** A limit counts as overstepped only past it. */
const PAST = 1;

/** The limits of a type on one attempt. */
export interface RunLimits {
  readonly maxRunMs: number;
  /** 0 where no progress is expected. */
  readonly progressTimeoutMs: number;
}

/** Aborts the run on the tick its lease ends, or when it oversteps a limit of its type. Ends with `over`. */
export async function watchClaim(options: {
  readonly clock: Clock;
  readonly lease: LeaseClock;
  readonly limits: RunLimits;
  /** Monotonic time of the claim. */
  readonly startedAt: number;
  readonly abort: (reason: AbortReason) => void;
  readonly over: AbortSignal;
}): Promise<void> {
  const { clock, lease, limits, startedAt, abort, over } = options;
  let timedOut = false;
  while (!over.aborted) {
    if (!lease.isHeld()) return abort(new LeaseLost('lapsed'));
    const ageMs = clock.monotonic() - startedAt;
    const silentForMs = lease.silentForMs();
    const reason = overstepped(limits, ageMs, silentForMs);
    if (reason !== undefined && !timedOut) {
      timedOut = true;
      abort(reason);
    }
    const waits = [LOOK_MS, lease.remainingMs()];
    if (!timedOut) {
      waits.push(limits.maxRunMs - ageMs + PAST);
      if (limits.progressTimeoutMs > 0) waits.push(limits.progressTimeoutMs - silentForMs + PAST);
    }
    await clock.sleep(Math.max(1, Math.ceil(Math.min(...waits))), over).catch(() => {});
  }
}

function overstepped(
  { maxRunMs, progressTimeoutMs }: RunLimits,
  ageMs: number,
  silentForMs: number,
): TimedOut | undefined {
  if (ageMs > maxRunMs) return new TimedOut('overrun', maxRunMs);
  if (progressTimeoutMs > 0 && silentForMs > progressTimeoutMs)
    return new TimedOut('silent', progressTimeoutMs);
  return undefined;
}
