import { createReaperPlace, type ReaperPlace } from '../protocol/store/reaper-row.ts';
import { longestSleepMs } from '../settings/longest-sleep.ts';
import { LEADER_KEY } from '../wire/table.ts';
import { type BreakerKeeper, keepBreaker } from './breaker-keeper.ts';
import type { ReaperDeps } from './deps.ts';
import { createLead, type Lead } from './leadership.ts';
import { GAUGE_EVERY_MS, gaugeLiveLeases } from './live-leases.ts';
import { reportUnsoundClock } from './report.ts';
import { type SweepResult, sweep } from './sweep.ts';
import { changes } from './sweep-counts.ts';
import { createSweepMemory, outlooksOf, type SweepMemory, soonest } from './sweep-memory.ts';
import { hasHung, isMissed } from './wake.ts';

/** What a watch needs besides the parts of a sweep. */
export interface WatchDeps extends ReaperDeps {
  /** Tells this reaper from every other one that may run at the same time. */
  readonly name: string;
  /** Writes out the metrics gathered so far: called after every sweep, since a watch takes minutes. */
  readonly flush?: () => void;
}

/** How long to watch, and how often to sweep. */
export interface WatchOptions {
  /** No sweep, and no page of one, is begun after this moment. */
  readonly deadlineAt: number;
  readonly signal?: AbortSignal;
  /** What the watch before left, in the same process. */
  readonly before?: Pick<WatchResult, 'dueAt' | 'lateUntil'>;
}

/** What a watch did. */
export interface WatchResult {
  readonly sweeps: number;
  readonly reclaimed: number;
  readonly failed: number;
  readonly redispatched: number;
  readonly cancelled: number;
  /** Why: out of time, told to stop, or switched off. */
  readonly ended: 'deadline' | 'stopped' | 'disabled';
  /** When it was to look again: as a leader, or because it could not. */
  readonly dueAt?: number;
  /** When it last got through to the store after it had been late. */
  readonly lateUntil?: number;
}

/** A timer may fire this much too early by the wall clock: sweeping then would find the lease still live. */
const TIMER_SLACK_MS = 20;

/**
 * Watches the leases until the deadline: sweeps, sleeps until the next lease can lapse, and sweeps again. Only the leader
 * does; the others wait for the lead. Releases the lead at the end, however it ends.
 */
export async function watch(deps: WatchDeps, options: WatchOptions): Promise<WatchResult> {
  if (!deps.settings.reaperEnabled) {
    deps.telemetry.info('reaper is switched off: nothing is swept', { setting: 'reaperEnabled' });
    return { ...NOTHING_DONE, ended: 'disabled' };
  }
  return new Watch(deps, options, await takeUp(deps, createReaperPlace(deps), options)).run();
}

const NOTHING_DONE = { sweeps: 0, reclaimed: 0, failed: 0, redispatched: 0, cancelled: 0 };

class Watch {
  readonly #deps: WatchDeps;
  readonly #options: WatchOptions;
  readonly #memory: SweepMemory;
  readonly #breaker: BreakerKeeper;
  readonly #lead: Lead;
  readonly #gaugeLive: (shards: number) => Promise<void>;
  readonly #noticeSetClock: () => void;
  readonly #totals = { ...NOTHING_DONE };
  readonly #endsAt: number;
  /** When this reaper, or the one before, was to look again. */
  #dueAt: number;
  /** That look was tried, and some of it failed. */
  #isOwed = false;
  /** A running shard could not be read or written at the last look: whatever stands between may keep workers from their beats. */
  #isBehind = false;
  #leads = false;

  constructor(deps: WatchDeps, options: WatchOptions, { memory, promisedAt, breaker }: Inheritance) {
    const { clock, name } = deps;
    this.#deps = deps;
    this.#options = options;
    this.#memory = memory;
    this.#breaker = breaker;
    this.#lead = createLead(deps, { name, endsAt: options.deadlineAt, outlet: memory.outlet });
    this.#gaugeLive = createGauge(deps, memory);
    this.#noticeSetClock = createSetClockNotice(deps, memory);
    this.#endsAt = clock.monotonic() + options.deadlineAt - clock.now();
    this.#dueAt = promisedAt;
  }

  async run(): Promise<WatchResult> {
    let ended: WatchResult['ended'];
    try {
      ended = await this.#watch();
    } finally {
      await this.#noticingOutages(this.#lead.giveUp());
      await this.#memory.outlet.settle();
      this.#deps.flush?.();
    }
    // What could not be read at the last look may be read at the first of the next watch, which must know.
    if (this.#isBehind) this.#memory.lateUntil = this.#deps.clock.now();
    const dueAt = this.#leads || this.#isOwed ? this.#dueAt : undefined;
    return { ended, ...this.#totals, dueAt, lateUntil: this.#memory.lateUntil };
  }

  /** What hangs until the store answers again tells of an outage, whatever was asked for. */
  async #noticingOutages<T>(asked: Promise<T>): Promise<T> {
    const { clock } = this.#deps;
    const askedAt = clock.now();
    const answer = await asked;
    if (hasHung(clock.now() - askedAt)) this.#memory.lateUntil = clock.now();
    return answer;
  }

  async #watch(): Promise<WatchResult['ended']> {
    const { deadlineAt, signal } = this.#options;
    while (!this.#timeIsUp()) {
      const nextAt = await this.#look();
      // Nothing can lapse before the successor looks: to wait out the rest would only cost.
      if (nextAt >= deadlineAt) return 'deadline';
      this.#lead.announce();
      if (!(await sleepUntil(nextAt, this.#deps, signal))) return 'stopped';
    }
    return signal?.aborted ? 'stopped' : 'deadline';
  }

  #timeIsUp(): boolean {
    return this.#options.signal?.aborted === true || this.#deps.clock.monotonic() >= this.#endsAt;
  }

  /** One look; returns when the next is due. */
  async #look(): Promise<number> {
    const { clock, settings } = this.#deps;
    this.#noticeSetClock();
    const begunAt = clock.now();
    const notBefore = begunAt + settings.minSweepIntervalMs;
    if (!(await clockIsSound(this.#deps))) {
      // A reaper with a wrong clock would take live leases: it leaves the lead to others and only measures again.
      await this.#lead.giveUp();
      reportUnsoundClock(this.#deps);
      return begunAt + settings.skewMs;
    }
    const role = await this.#noticingOutages(this.#lead.seek());
    this.#leads = role.leads;
    if (!role.leads) {
      // It is the leader who was to look until then, and this one owes nothing.
      this.#dueAt = role.leaderUntil;
      this.#isBehind = false;
      this.#isOwed = false;
      return Math.max(notBefore, Math.min(role.leaderUntil, begunAt + longestSleepMs(settings)));
    }
    const result = await this.#sweep(role.shards);
    if (result.complete || changes(result) > 0) await this.#noticingOutages(this.#lead.keep());
    const next = soonest([...this.#memory.outlooks.values()].map((outlook) => outlook.quietUntil)) ?? begunAt;
    const nextAt = Math.max(notBefore, Math.min(next, begunAt + longestSleepMs(settings)));
    // A shard that could not be read, and is not due again yet, is still owed its look.
    this.#isBehind = outlooksOf(this.#memory, 'running').some(({ failures }) => failures > 0);
    this.#isOwed = this.#isBehind || !result.complete;
    if (!this.#isOwed) this.#dueAt = nextAt;
    return nextAt;
  }

  async #sweep(shards: number): Promise<SweepResult> {
    const { clock, settings } = this.#deps;
    const result = await sweep(this.#deps, {
      shards,
      memory: this.#memory,
      shouldStop: () => this.#timeIsUp(),
      missedSweep: this.#isBehind || isMissed(this.#dueAt, clock.now(), settings),
      onBreakerOpened: this.#breaker.opened,
    });
    await this.#breaker.swept(this.#memory.breaker.heldBack);
    this.#totals.sweeps += 1;
    for (const key of ['reclaimed', 'failed', 'redispatched', 'cancelled'] as const)
      this.#totals[key] += result[key];
    await this.#gaugeLive(shards);
    this.#deps.flush?.();
    return result;
  }
}

interface Inheritance {
  readonly memory: SweepMemory;
  readonly promisedAt: number;
  readonly breaker: BreakerKeeper;
}

/**
 * What the reaper before left: its breaker, and when it was to look again. Where its row does not tell, the watch before may know; and
 * where the store does not answer, this one was to look now. Else an outage in which one watch follows another would be charged to the jobs.
 */
async function takeUp(
  deps: WatchDeps,
  place: ReaperPlace,
  { before = {} }: Pick<WatchOptions, 'before'>,
): Promise<Inheritance> {
  const { dueAt = 0, lateUntil = Number.NEGATIVE_INFINITY } = before;
  const begunAt = deps.clock.now();
  const row = await place.read().catch(() => undefined);
  const now = deps.clock.now();
  const promisedAt = Math.max(row?.wakeAt ?? 0, row?.leaderUntil ?? 0);
  return {
    memory: {
      ...createSweepMemory(deps, row?.breakerOpen),
      lateUntil: hasHung(now - begunAt) ? now : lateUntil,
    },
    // The row may name a promise of a chain that has not been there for days.
    promisedAt: Math.max(promisedAt, dueAt) || (row === undefined ? begunAt : 0),
    breaker: keepBreaker(deps, place, row?.breakerOpen),
  };
}

/** Counts the live leases now and then. */
function createGauge(deps: WatchDeps, memory: SweepMemory): (shards: number) => Promise<void> {
  let gaugedAt = Number.NEGATIVE_INFINITY;
  return async (shards) => {
    const now = deps.clock.monotonic();
    if (now - gaugedAt < GAUGE_EVERY_MS) return;
    gaugedAt = now;
    await gaugeLiveLeases(deps, memory, shards);
  };
}

/** Asks the store for its time where it is not known yet, or was too far off: a clock may be set right meanwhile. */
async function clockIsSound({ table, clockGuard }: ReaperDeps): Promise<boolean> {
  if (clockGuard === undefined) return true;
  if (clockGuard.offset() === undefined || !clockGuard.isSound())
    await table.read(LEADER_KEY).catch(() => undefined);
  return clockGuard.isSound();
}

/** Forgets what was concluded from a wall clock that has been set since. */
function createSetClockNotice({ clock, settings }: ReaperDeps, memory: SweepMemory): () => void {
  let wall = clock.now();
  let monotonic = clock.monotonic();
  return () => {
    const drift = clock.now() - wall - (clock.monotonic() - monotonic);
    if (Math.abs(drift) > settings.skewMs) {
      memory.outlooks.clear();
      memory.lateUntil = Number.NEGATIVE_INFINITY;
    }
    wall = clock.now();
    monotonic = clock.monotonic();
  };
}

/** False when the signal cut the sleep short. */
async function sleepUntil(at: number, { clock }: ReaperDeps, signal?: AbortSignal): Promise<boolean> {
  try {
    await clock.sleep(Math.max(0, at - clock.now()), signal);
    const early = at - clock.now();
    if (early > 0 && early <= TIMER_SLACK_MS) await clock.sleep(early, signal);
    return true;
  } catch (error) {
    if (signal?.aborted) return false;
    throw error;
  }
}
