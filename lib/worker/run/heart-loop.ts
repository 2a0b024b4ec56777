import type { Claim } from '../../protocol/job.ts';
import type { Clock, HeartbeatOutcome, JobStore, Random } from '../../protocol/ports.ts';
import { BEAT_REPEATED_AFTER, HEART_JITTER } from '../../settings/heartbeat-timing.ts';
import { Gatherer } from '../gatherer.ts';
import type { ClockCheck } from '../worker-parts.ts';
import { type ClockReading, type LeaseClock, readClock } from './lease-clock.ts';

/** Beats due within 5% of their interval are sent together. */
const TOGETHER = 0.05;
/** Limit of a DynamoDB batch. */
const FULL = 25;
/** Per claim; the SDK already retries, so more would only burden a struggling store. */
const MOST_UNDER_WAY = 2;

export interface HeldLease {
  readonly claim: Claim;
  readonly leaseMs: number;
  /** Before jitter. */
  readonly intervalMs: number;
  readonly lease: Pick<LeaseClock, 'renew' | 'refuse' | 'isHeld' | 'hasEnded' | 'sinceRenewalMs'>;
  readonly onReport: (report: HeartReport) => void;
}

/** `refused`: another worker holds the lease. */
export type HeartReport = 'refused' | 'cancelRequested';

export type Heart = Pick<HeartLoop, 'start' | 'stop' | 'quiet' | 'close'>;

interface HeartLoopOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: Pick<JobStore, 'heartbeat' | 'heartbeatMany'>;
  readonly clockCheck: ClockCheck;
  /** Called when a beat fails for any reason but a lost lease. */
  readonly onFailure: (claim: Claim, error: unknown) => void;
}

interface Beating {
  readonly held: HeldLease;
  underWay: number;
  /** Monotonic. */
  dueAt: number;
  /** Earliest time to join others' beats. */
  joinsAt: number;
}

type BeatOutcome = HeartbeatOutcome | { readonly outcome: 'failed'; readonly error: unknown };

const NEVER = Number.POSITIVE_INFINITY;

const repeatedAfterMs = ({ intervalMs }: HeldLease): number => intervalMs * BEAT_REPEATED_AFTER;

/** Heartbeats from the host's event loop, which no handler can block. */
export class HeartLoop {
  readonly #options: HeartLoopOptions;
  readonly #beating = new Map<string, Beating>();
  readonly #gatherer: Gatherer;

  constructor(options: HeartLoopOptions) {
    this.#options = options;
    this.#gatherer = new Gatherer({
      clock: options.clock,
      full: NEVER,
      ready: () => this.#beating.size,
      waitMs: () => this.#nextDue() - options.clock.monotonic(),
      send: () => this.#beatDue(),
    });
  }

  /** Beats until the claim is stopped, refused or past its end. */
  start(held: HeldLease): void {
    const each: Beating = { held, underWay: 0, dueAt: NEVER, joinsAt: NEVER };
    this.#beating.set(held.claim.owner, each);
    this.#plan(each, false);
  }

  stop({ owner }: Claim): void {
    this.#beating.delete(owner);
  }

  /** Lambda must not freeze the process during a beat. */
  quiet(): Promise<void> {
    return this.#gatherer.quiet();
  }

  close(): Promise<void> {
    this.#beating.clear();
    this.#gatherer.stop();
    return this.#gatherer.quiet();
  }

  #plan(each: Beating, failed: boolean): void {
    const { clock, random } = this.#options;
    const { held } = each;
    const now = clock.monotonic();
    const intervalMs = held.intervalMs * (1 - HEART_JITTER * random.next());
    // Counted from the last renewal, so that a late start or a slow reply catches up.
    const wait = failed ? repeatedAfterMs(held) : intervalMs - held.lease.sinceRenewalMs();
    const dueAt = now + Math.max(0, wait);
    // An older failed beat must not postpone the next one.
    each.dueAt = failed && each.dueAt > now ? Math.min(each.dueAt, dueAt) : dueAt;
    each.joinsAt = each.dueAt - intervalMs * TOGETHER;
    this.#gatherer.lookWithin(each.dueAt - now);
  }

  #nextDue(): number {
    let next = NEVER;
    for (const { dueAt } of this.#beating.values()) next = Math.min(next, dueAt);
    return next;
  }

  async #beatDue(): Promise<void> {
    const now = this.#options.clock.monotonic();
    const due = [...this.#beating.values()].filter(({ joinsAt }) => joinsAt <= now);
    // After the lease ends the worker has fenced itself; a beat could only revive a claim that no one runs.
    for (const each of due) if (!each.held.lease.isHeld()) this.#forget(each);
    const alive = due.filter((each) => !this.#isStopped(each));
    const batches: Promise<void>[] = [];
    for (let start = 0; start < alive.length; start += FULL)
      batches.push(this.#beat(alive.slice(start, start + FULL)));
    await Promise.all(batches);
  }

  async #beat(group: readonly Beating[]): Promise<void> {
    const now = this.#options.clock.monotonic();
    for (const each of group) {
      each.underWay += 1;
      // Sent in parallel, because a broken network may swallow the first until the client times out.
      const againMs = each.underWay < MOST_UNDER_WAY ? repeatedAfterMs(each.held) : NEVER;
      each.dueAt = now + againMs;
      each.joinsAt = each.dueAt;
      if (againMs !== NEVER) this.#gatherer.lookWithin(againMs);
    }
    const { sentAt, outcomes } = await this.#send(group.map(({ held }) => held));
    for (const [i, each] of group.entries()) {
      const { lease } = each.held;
      each.underWay -= 1;
      const outcome = outcomes[i] ?? { outcome: 'failed', error: new Error('the store gave no verdict') };
      if (outcome.outcome === 'failed') this.#options.onFailure(each.held.claim, outcome.error);
      if (outcome.outcome === 'extended' && !lease.hasEnded()) lease.renew(sentAt);
      if (this.#isStopped(each)) continue;
      if (lease.hasEnded()) this.#forget(each);
      else this.#interpretReply(each, outcome);
    }
  }

  async #send(
    leases: readonly HeldLease[],
  ): Promise<{ readonly sentAt: ClockReading; readonly outcomes: readonly BeatOutcome[] }> {
    const { store, clock, clockCheck } = this.#options;
    const failed = (error: unknown) => leases.map(() => ({ outcome: 'failed' as const, error }));
    // A clock that was set would make a lease end too early, or long after its worker.
    const isSound = await clockCheck.isSound();
    const sentAt = readClock(clock);
    if (!isSound) return { sentAt, outcomes: failed(new Error('this clock cannot be trusted with a lease')) };
    const beats = leases.map(({ claim, leaseMs }) => ({ claim, leaseUntil: sentAt.wall + leaseMs }));
    const [only] = beats;
    const outcomes =
      only !== undefined && beats.length === 1
        ? store.heartbeat(only.claim, only.leaseUntil).then((outcome) => [outcome])
        : store.heartbeatMany(beats);
    return { sentAt, outcomes: await outcomes.catch(failed) };
  }

  #interpretReply(each: Beating, outcome: BeatOutcome): void {
    const { lease, onReport } = each.held;
    if (outcome.outcome === 'lost') {
      this.#forget(each);
      lease.refuse();
      onReport('refused');
      return;
    }
    if (outcome.outcome === 'extended' && outcome.cancelRequested) onReport('cancelRequested');
    this.#plan(each, outcome.outcome === 'failed');
  }

  #isStopped(each: Beating): boolean {
    return this.#beating.get(each.held.claim.owner) !== each;
  }

  #forget({ held }: Beating): void {
    this.#beating.delete(held.claim.owner);
  }
}
