import type { Clock } from '../../protocol/ports.ts';
import { type AbortReason, LeaseLost, TimedOut } from '../abort-reasons.ts';
import { createAlarm } from './alarm.ts';
import type { LeaseClock } from './lease-clock.ts';

/** Claims are looked at this often at least, because a wall clock can be set while nobody waits for it. */
const LOOK_MS = 1000;
/** A limit counts as overstepped only past it. */
const PAST = 1;

/** The limits of a type on one attempt. */
interface RunLimits {
  readonly maxRunMs: number;
  /** 0 where no progress is expected. */
  readonly progressTimeoutMs: number;
}

/** A claim whose run must end with its lease, or at a limit of its type. */
interface WatchedClaim {
  readonly lease: LeaseClock;
  readonly limits: RunLimits;
  /** Monotonic time of the claim. */
  readonly startedAt: number;
  readonly abort: (reason: AbortReason) => void;
}

export interface ClaimWatch {
  /** Aborts the run on the tick its lease ends, or when it oversteps a limit. Returns how to end the watch. */
  watch(claim: WatchedClaim): () => void;
}

/** Watches the claims of a host. */
export function createClaimWatch(clock: Clock): ClaimWatch {
  const watched = new Set<WatchedClaim>();
  const timedOut = new WeakSet<WatchedClaim>();

  /** When to look again; undefined when there is nothing left to look for. */
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

  return {
    watch(claim) {
      watched.add(claim);
      lookAgainAfter(look(claim));
      return () => watched.delete(claim);
    },
  };
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
