import { createReaperPlace, type ReaperPlace } from '../protocol/store/reaper-row.ts';
import { longestSleepMs } from '../settings/longest-sleep.ts';
import { LEADER_KEY } from '../wire/table.ts';
import { type BreakerKeeper, keepBreaker } from './breaker-keeper.ts';
import type { ReaperDeps } from './deps.ts';
import { createLead } from './leadership.ts';
import { GAUGE_EVERY_MS, gaugeLiveLeases } from './live-leases.ts';
import { reportUnsoundClock } from './report.ts';
import { sweep } from './sweep.ts';
import { changes } from './sweep-counts.ts';
import { createSweepMemory, type SweepMemory, soonest } from './sweep-memory.ts';
import { isMissed } from './wake.ts';

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
}

/** A timer may fire this much too early by the wall clock: sweeping then would find the lease still live. */
const TIMER_SLACK_MS = 20;

/**
 * Watches the leases until the deadline: sweeps, sleeps until the next lease can lapse, and sweeps again. Only the leader
 * does; the others wait for the lead. Releases the lead at the end, however it ends.
 */
export async function watch(deps: WatchDeps, options: WatchOptions): Promise<WatchResult> {
  const { clock, settings, telemetry } = deps;
  const totals = { sweeps: 0, reclaimed: 0, failed: 0, redispatched: 0, cancelled: 0 };
  if (!settings.reaperEnabled) {
    telemetry.info('reaper is switched off: nothing is swept', { setting: 'reaperEnabled' });
    return { ...totals, ended: 'disabled' };
  }
  const { deadlineAt, signal } = options;
  const endsAt = clock.monotonic() + deadlineAt - clock.now();
  const timeIsUp = () => signal?.aborted === true || clock.monotonic() >= endsAt;
  const place = createReaperPlace(deps);
  const { memory, promisedAt, breaker } = await takeUp(deps, place);
  const lead = createLead(deps, { name: deps.name, endsAt: deadlineAt, outlet: memory.outlet });
  const gaugeLive = createGauge(deps, memory);
  const noticeSetClock = createSetClockNotice(deps, memory);
  /** When this reaper, or the one before, was to look again. */
  let dueAt = promisedAt;

  /** One look; returns when the next is due. */
  const look = async (): Promise<number> => {
    noticeSetClock();
    const begunAt = clock.now();
    const notBefore = begunAt + settings.minSweepIntervalMs;
    if (!(await clockIsSound(deps))) {
      // A reaper with a wrong clock would take live leases: it leaves the lead to others and only measures again.
      await lead.giveUp();
      reportUnsoundClock(deps);
      return begunAt + settings.skewMs;
    }
    const role = await lead.seek();
    if (!role.leads)
      return Math.max(notBefore, Math.min(role.leaderUntil, begunAt + longestSleepMs(settings)));
    const result = await sweep(deps, {
      shards: role.shards,
      memory,
      shouldStop: timeIsUp,
      missedSweep: isMissed(dueAt, begunAt, settings),
      onBreakerOpened: breaker.opened,
    });
    await breaker.swept(memory.breaker.heldBack);
    totals.sweeps += 1;
    for (const key of ['reclaimed', 'failed', 'redispatched', 'cancelled'] as const)
      totals[key] += result[key];
    await gaugeLive(role.shards);
    deps.flush?.();
    if (result.complete || changes(result) > 0) await lead.keep();
    const next = soonest([...memory.outlooks.values()].map((outlook) => outlook.quietUntil)) ?? begunAt;
    const nextAt = Math.max(notBefore, Math.min(next, begunAt + longestSleepMs(settings)));
    if (result.complete) dueAt = nextAt;
    return nextAt;
  };

  const run = async (): Promise<WatchResult['ended']> => {
    while (!timeIsUp()) {
      const nextAt = await look();
      // Nothing can lapse before the successor looks: to wait out the rest would only cost.
      if (nextAt >= deadlineAt) return 'deadline';
      lead.announce();
      if (!(await sleepUntil(nextAt, deps, signal))) return 'stopped';
    }
    return signal?.aborted ? 'stopped' : 'deadline';
  };

  try {
    return { ended: await run(), ...totals };
  } finally {
    await lead.giveUp();
    await memory.outlet.settle();
    deps.flush?.();
  }
}

/** What the reaper before left: its breaker, and when it was to look again. Without an answer, nothing is known. */
async function takeUp(
  deps: WatchDeps,
  place: ReaperPlace,
): Promise<{ memory: SweepMemory; promisedAt: number | undefined; breaker: BreakerKeeper }> {
  const row = await place.read().catch(() => undefined);
  const promises = [row?.wakeAt, row?.leaderUntil].filter((at) => at !== undefined);
  return {
    memory: createSweepMemory(deps, row?.breakerOpen),
    promisedAt: promises.length === 0 ? undefined : Math.max(...promises),
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
    if (Math.abs(drift) > settings.skewMs) memory.outlooks.clear();
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
