import type { Clock } from '../../protocol/ports.ts';
import { type AbortReason, LeaseLost, TimedOut } from '../abort-reasons.ts';
import { createAlarm } from '../alarm.ts';
import type { TypeTerms } from '../registry.ts';
import type { LeaseClock } from './lease-clock.ts';

/** The wall clock can change between timers. */
const LOOK_MS = 1000;
/** A limit is inclusive. */
const PAST = 1;

interface WatchedClaim {
  readonly lease: LeaseClock;
  readonly limits: Pick<TypeTerms, 'maxRunMs' | 'progressTimeoutMs'>;
  readonly startedAt: number;
  readonly abort: (reason: AbortReason) => void;
}

export function createClaimWatch(clock: Clock) {
  const watched = new Set<WatchedClaim>();
  const timedOut = new WeakSet<WatchedClaim>();

  const look = (claim: WatchedClaim): number | undefined => {
    const { lease, limits, startedAt, abort } = claim;
    if (!lease.isHeld()) {
      watched.delete(claim);
      abort(new LeaseLost('lapsed'));
      return undefined;
    }
    const ageMs = clock.monotonic() - startedAt;
    const silentForMs = lease.silentForMs();
    const reason = overstepped(limits, ageMs, silentForMs);
    if (reason !== undefined && !timedOut.has(claim)) {
      timedOut.add(claim);
      abort(reason);
    }
    let wait = Math.min(LOOK_MS, lease.remainingMs());
    if (!timedOut.has(claim)) {
      wait = Math.min(wait, limits.maxRunMs - ageMs + PAST);
      if (limits.progressTimeoutMs > 0) wait = Math.min(wait, limits.progressTimeoutMs - silentForMs + PAST);
    }
    return Math.max(1, Math.ceil(wait));
  };

  const alarm = createAlarm(clock, () => {
    for (const claim of [...watched]) lookAgainAfter(look(claim));
  });
  const lookAgainAfter = (ms: number | undefined): void => {
    if (ms !== undefined) alarm.within(ms);
  };

  return (claim: WatchedClaim): (() => void) => {
    watched.add(claim);
    lookAgainAfter(look(claim));
    return () => watched.delete(claim);
  };
}

function overstepped(
  { maxRunMs, progressTimeoutMs }: WatchedClaim['limits'],
  ageMs: number,
  silentForMs: number,
): TimedOut | undefined {
  if (ageMs > maxRunMs) return new TimedOut('overrun', maxRunMs);
  if (progressTimeoutMs > 0 && silentForMs > progressTimeoutMs)
    return new TimedOut('silent', progressTimeoutMs);
  return undefined;
}
