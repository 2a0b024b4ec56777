import type { Claim } from '../../protocol/job.ts';
import type { Clock, HeartbeatOutcome, JobStore, Random } from '../../protocol/ports.ts';
import { BEAT_REPEATED_AFTER, HEART_JITTER } from '../../settings/heartbeat-timing.ts';
import { createGatherer } from '../gatherer.ts';
import type { ClockCheck } from '../intake/clock-check.ts';
import { type ClockReading, type LeaseClock, readClock } from './lease-clock.ts';

/** Beats due within 5% of their interval are sent together. */
const TOGETHER = 0.05;
/** DynamoDB batch limit. */
const FULL = 25;
/** The SDK already retries; more would burden a struggling store. */
const MOST_UNDER_WAY = 2;

export interface HeldLease {
  readonly claim: Claim;
  readonly leaseMs: number;
  readonly intervalMs: number;
  readonly lease: Pick<LeaseClock, 'renew' | 'refuse' | 'isHeld' | 'hasEnded' | 'sinceRenewalMs'>;
  readonly onReport: (report: HeartReport) => void;
}

export type HeartReport = 'refused' | 'cancelRequested';

export type Heart = ReturnType<typeof createHeartLoop>;

interface HeartLoopOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Pick<JobStore, 'heartbeat' | 'heartbeatMany'>;
  readonly clockCheck: ClockCheck;
  readonly onFailure: (claim: Claim, error: unknown) => void;
}

interface Beating {
  readonly held: HeldLease;
  underWay: number;
  /** Monotonic. */
  dueAt: number;
  joinsAt: number;
}

type BeatOutcome = HeartbeatOutcome | { readonly outcome: 'failed'; readonly error: unknown };

const NEVER = Number.POSITIVE_INFINITY;

const repeatedAfterMs = ({ intervalMs }: HeldLease): number => intervalMs * BEAT_REPEATED_AFTER;

/** Runs in the host, where no handler can block it. */
export function createHeartLoop({ clock, random, store, clockCheck, onFailure }: HeartLoopOptions) {
  const beating = new Map<string, Beating>();

  const isStopped = (each: Beating): boolean => beating.get(each.held.claim.owner) !== each;
  const forget = ({ held }: Beating): void => void beating.delete(held.claim.owner);

  const plan = (each: Beating, failed: boolean): void => {
    const { held } = each;
    const now = clock.monotonic();
    const intervalMs = held.intervalMs * (1 - HEART_JITTER * random.next());
    // Counted from the last renewal, so that a late start or a slow reply catches up.
    const wait = failed ? repeatedAfterMs(held) : intervalMs - held.lease.sinceRenewalMs();
    const dueAt = now + Math.max(0, wait);
    // An older failed beat must not postpone the next one.
    each.dueAt = failed && each.dueAt > now ? Math.min(each.dueAt, dueAt) : dueAt;
    each.joinsAt = each.dueAt - intervalMs * TOGETHER;
    gatherer.lookWithin(each.dueAt - now);
  };

  const send = async (
    leases: readonly HeldLease[],
  ): Promise<{ readonly sentAt: ClockReading; readonly outcomes: readonly BeatOutcome[] }> => {
    const failed = (error: unknown) => leases.map(() => ({ outcome: 'failed' as const, error }));
    // A clock that was set would make a lease end too early, or long after its worker.
    const isSound = await clockCheck.isSound();
    const sentAt = readClock(clock);
    if (!isSound) return { sentAt, outcomes: failed(new Error('this clock is too far from DynamoDB’s')) };
    const beats = leases.map(({ claim, leaseMs }) => ({ claim, leaseUntil: sentAt.wall + leaseMs }));
    const [only] = beats;
    const outcomes =
      only !== undefined && beats.length === 1
        ? store.heartbeat(only.claim, only.leaseUntil).then((outcome) => [outcome])
        : store.heartbeatMany(beats);
    return { sentAt, outcomes: await outcomes.catch(failed) };
  };

  const interpretReply = (each: Beating, outcome: BeatOutcome): void => {
    const { lease, onReport } = each.held;
    if (outcome.outcome === 'lost') {
      forget(each);
      lease.refuse();
      onReport('refused');
      return;
    }
    if (outcome.outcome === 'extended' && outcome.cancelRequested) onReport('cancelRequested');
    plan(each, outcome.outcome === 'failed');
  };

  const beat = async (group: readonly Beating[]): Promise<void> => {
    const now = clock.monotonic();
    for (const each of group) {
      each.underWay += 1;
      // Sent in parallel, because a broken network may swallow the first until the client times out.
      const againMs = each.underWay < MOST_UNDER_WAY ? repeatedAfterMs(each.held) : NEVER;
      each.dueAt = now + againMs;
      each.joinsAt = each.dueAt;
      if (againMs !== NEVER) gatherer.lookWithin(againMs);
    }
    const { sentAt, outcomes } = await send(group.map(({ held }) => held));
    for (const [i, each] of group.entries()) {
      const { lease, claim } = each.held;
      each.underWay -= 1;
      const outcome = outcomes[i] ?? { outcome: 'failed', error: new Error('the store returned no result') };
      if (outcome.outcome === 'failed') onFailure(claim, outcome.error);
      if (outcome.outcome === 'extended' && !lease.hasEnded()) lease.renew(sentAt);
      if (isStopped(each)) continue;
      if (lease.hasEnded()) forget(each);
      else interpretReply(each, outcome);
    }
  };

  const beatDue = async (): Promise<void> => {
    const now = clock.monotonic();
    const due = [...beating.values()].filter(({ joinsAt }) => joinsAt <= now);
    // The worker has fenced itself, so a beat could only revive a claim that no one runs.
    for (const each of due) if (!each.held.lease.isHeld()) forget(each);
    const alive = due.filter((each) => !isStopped(each));
    const batches: Promise<void>[] = [];
    for (let start = 0; start < alive.length; start += FULL)
      batches.push(beat(alive.slice(start, start + FULL)));
    await Promise.all(batches);
  };

  const gatherer = createGatherer({
    clock,
    full: NEVER,
    ready: () => beating.size,
    waitMs() {
      let next = NEVER;
      for (const { dueAt } of beating.values()) next = Math.min(next, dueAt);
      return next - clock.monotonic();
    },
    send: beatDue,
  });

  return {
    start(held: HeldLease): void {
      const each: Beating = { held, underWay: 0, dueAt: NEVER, joinsAt: NEVER };
      beating.set(held.claim.owner, each);
      plan(each, false);
    },
    stop({ owner }: Claim): void {
      beating.delete(owner);
    },
    /** Lambda must not freeze the process during a beat. */
    quiet: gatherer.quiet,
    close(): Promise<void> {
      beating.clear();
      gatherer.stop();
      return gatherer.quiet();
    },
  };
}
