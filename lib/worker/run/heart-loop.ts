import type { Claim } from '../../protocol/job.ts';
import type { Chance, Clock, HeartbeatOutcome, JobStore } from '../../protocol/ports.ts';
import { BEAT_REPEATED_AFTER, HEART_JITTER } from '../../settings/lease-length.ts';
import { type Alarm, createAlarm } from './alarm.ts';
import { type Heart, type Patient, rhythmOf } from './heart.ts';
import { readClock } from './lease-clock.ts';

/** Whoever is due within this share of its interval beats along with one that is due now. */
const TOGETHER = 0.05;
/** DynamoDB takes this many rows in one request. */
const FULL = 25;
/** Beats of one claim. The client repeats each by itself: more would only add to the load of a store in trouble. */
const MOST_UNDER_WAY = 2;

export interface HeartLoopOptions {
  readonly clock: Clock;
  readonly chance: Chance;
  readonly store: Pick<JobStore, 'heartbeat' | 'heartbeatMany'>;
  /** Told of beats that failed for a reason other than a lost lease. */
  readonly onFailure: (claim: Claim, error: unknown) => void;
}

interface Beating {
  readonly patient: Patient;
  underWay: number;
  /** Monotonic time of the next beat. */
  dueAt: number;
  /** From when on it may join a beat of others. */
  joinsAt: number;
}

type BeatOutcome = HeartbeatOutcome | { readonly outcome: 'failed'; readonly error: unknown };

const NEVER = Number.POSITIVE_INFINITY;

/** By the job's own lease, even where it has grown: the reaper waits no longer for those who were cut off. */
const repeatedAfterMs = (patient: Patient): number => rhythmOf(patient, 0).intervalMs * BEAT_REPEATED_AFTER;

export const createHeartLoop = (options: HeartLoopOptions): Heart => new HeartLoop(options);

/** The heart, in the host's own event loop: no handler can hold that up. Beats that are due together are sent together. */
class HeartLoop implements Heart {
  readonly #options: HeartLoopOptions;
  readonly #beating = new Map<string, Beating>();
  readonly #underWay = new Set<Promise<unknown>>();
  readonly #alarm: Alarm;

  constructor(options: HeartLoopOptions) {
    this.#options = options;
    this.#alarm = createAlarm(options.clock, () => this.#beatDue());
  }

  start(patient: Patient): void {
    const each: Beating = { patient, underWay: 0, dueAt: NEVER, joinsAt: NEVER };
    this.#beating.set(patient.claim.owner, each);
    this.#plan(each, false);
  }

  stop({ owner }: Claim): void {
    this.#beating.delete(owner);
  }

  async quiet(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  async close(): Promise<void> {
    this.#beating.clear();
    this.#alarm.stop();
    await Promise.allSettled(this.#underWay);
  }

  #plan(each: Beating, failed: boolean): void {
    const { clock, chance } = this.#options;
    const { patient } = each;
    const now = clock.monotonic();
    const rhythm = rhythmOf(patient, now - patient.startedAt);
    const intervalMs = rhythm.intervalMs * (1 - HEART_JITTER * chance.random());
    // Counted from the last renewal: a heart that was late to start, or had to wait for a reply, catches up.
    const wait = failed ? repeatedAfterMs(patient) : intervalMs - patient.lease.sinceRenewalMs();
    const dueAt = now + Math.max(0, wait);
    // An older beat that failed is no reason to put the next one off.
    each.dueAt = failed && each.dueAt > now ? Math.min(each.dueAt, dueAt) : dueAt;
    each.joinsAt = each.dueAt - intervalMs * TOGETHER;
    this.#alarm.within(each.dueAt - now);
  }

  #beatDue(): void {
    const now = this.#options.clock.monotonic();
    let next = NEVER;
    let isDue = false;
    const along: Beating[] = [];
    for (const each of this.#beating.values()) {
      isDue ||= each.dueAt <= now;
      if (each.joinsAt <= now) along.push(each);
      else next = Math.min(next, each.dueAt);
    }
    if (!isDue) for (const { dueAt } of along.splice(0)) next = Math.min(next, dueAt);
    // Past its end the worker has fenced itself; a beat now could only revive a claim that nobody works on.
    for (const each of along) if (!each.patient.lease.isHeld()) this.#forget(each);
    const held = along.filter((each) => !this.#isStopped(each));
    for (let start = 0; start < held.length; start += FULL)
      this.#track(this.#beat(held.slice(start, start + FULL)));
    if (next !== NEVER) this.#alarm.within(Math.max(0, next - now));
  }

  async #beat(group: readonly Beating[]): Promise<void> {
    const sentAt = readClock(this.#options.clock);
    const beats = group.map((each) => {
      const { patient } = each;
      patient.lease.ask(sentAt);
      const { leaseMs } = rhythmOf(patient, sentAt.monotonic - patient.startedAt);
      each.underWay += 1;
      // Beside this one, if it gets no answer: what a broken network swallowed must not keep the next until the client gives it up.
      const againMs = each.underWay < MOST_UNDER_WAY ? repeatedAfterMs(patient) : NEVER;
      each.dueAt = sentAt.monotonic + againMs;
      each.joinsAt = each.dueAt;
      if (againMs !== NEVER) this.#alarm.within(againMs);
      return { claim: patient.claim, leaseMs, leaseUntil: sentAt.wall + leaseMs };
    });
    const outcomes = await this.#send(beats);
    for (const [i, each] of group.entries()) {
      const { lease } = each.patient;
      each.underWay -= 1;
      const outcome = outcomes[i] ?? { outcome: 'failed', error: new Error('the store gave no verdict') };
      if (outcome.outcome === 'failed') this.#options.onFailure(each.patient.claim, outcome.error);
      if (outcome.outcome === 'extended' && !lease.hasEnded()) lease.renew(sentAt, beats[i]?.leaseMs ?? 0);
      if (this.#isStopped(each)) continue;
      if (lease.hasEnded()) this.#forget(each);
      else this.#judge(each, outcome);
    }
  }

  async #send(
    beats: readonly { readonly claim: Claim; readonly leaseUntil: number }[],
  ): Promise<readonly BeatOutcome[]> {
    const { store } = this.#options;
    const [only] = beats;
    const failed = (error: unknown) => beats.map(() => ({ outcome: 'failed' as const, error }));
    if (only === undefined) return [];
    if (beats.length > 1) return store.heartbeatMany(beats).catch(failed);
    return store.heartbeat(only.claim, only.leaseUntil).then((outcome) => [outcome], failed);
  }

  #judge(each: Beating, outcome: BeatOutcome): void {
    const { lease, onReport } = each.patient;
    if (outcome.outcome === 'lost') {
      this.#forget(each);
      lease.refuse();
      onReport({ kind: 'refused' });
      return;
    }
    if (outcome.outcome === 'extended' && outcome.cancelRequested) onReport({ kind: 'cancelRequested' });
    this.#plan(each, outcome.outcome === 'failed');
  }

  #track(beat: Promise<void>): void {
    const tracked = beat.finally(() => this.#underWay.delete(tracked));
    this.#underWay.add(tracked);
  }

  #isStopped(each: Beating): boolean {
    return this.#beating.get(each.patient.claim.owner) !== each;
  }

  #forget({ patient }: Beating): void {
    this.#beating.delete(patient.claim.owner);
  }
}
