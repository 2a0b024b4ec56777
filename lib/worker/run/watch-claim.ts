import type { Clock } from '../../protocol/ports.ts';
import { type AbortReason, LeaseLost, TimedOut } from '../abort-reasons.ts';
import { overstepped, type Vitals } from './heart.ts';
import type { LeaseClock } from './lease-clock.ts';

/** The claim is looked at this often at least, because a wall clock can be set while nobody waits for it. */
const LOOK_MS = 1000;
/** A limit counts as overstepped only past it. */
const PAST = 1;

/** Aborts the run on the tick its lease ends, or when it oversteps a limit of its type. Ends with `over`. */
export async function watchClaim(options: {
  readonly clock: Clock;
  readonly lease: LeaseClock;
  readonly vitals: Vitals;
  readonly abort: (reason: AbortReason) => void;
  readonly over: AbortSignal;
}): Promise<void> {
  const { clock, lease, vitals, abort, over } = options;
  let timedOut = false;
  while (!over.aborted) {
    if (!lease.isHeld()) return abort(new LeaseLost('lapsed'));
    const ageMs = clock.monotonic() - vitals.startedAt;
    const silentForMs = lease.silentForMs();
    const kind = overstepped(vitals, { ageMs, silentForMs, stalledForMs: 0 });
    if (kind !== undefined && !timedOut) {
      timedOut = true;
      abort(timeoutOf(kind, vitals));
    }
    const waits = [LOOK_MS, lease.remainingMs()];
    if (!timedOut) {
      waits.push(vitals.maxRunMs - ageMs + PAST);
      if (vitals.progressTimeoutMs > 0) waits.push(vitals.progressTimeoutMs - silentForMs + PAST);
    }
    await clock.sleep(Math.max(1, Math.ceil(Math.min(...waits))), over).catch(() => {});
  }
}

export const timeoutOf = (kind: TimedOut['kind'], vitals: Vitals): TimedOut =>
  new TimedOut(
    kind,
    { stalled: vitals.maxStallMs, overrun: vitals.maxRunMs, silent: vitals.progressTimeoutMs }[kind],
  );
