import { longestSleepMs } from '../settings/longest-sleep.ts';
import type { Settings } from '../settings/settings.ts';
import { LEADER_KEY } from '../wire/table.ts';
import type { ReaperDeps } from './deps.ts';
import { createLead, type Lead } from './leadership.ts';
import { createLiveLeasesGauge } from './live-leases.ts';
import { sweep } from './sweep.ts';
import { changes } from './sweep-counts.ts';
import { createSweepMemory, outlooksOf, type SweepMemory, soonest } from './sweep-memory.ts';

export interface WatchDeps extends ReaperDeps {
  /** Tells this reaper from every other one that may run at the same time. */
  readonly name: string;
  /** Writes out the metrics gathered so far: called after every sweep, since a watch takes minutes. */
  readonly flush?: () => void;
}

export interface WatchOptions {
  /** No sweep, and no page of one, is begun after this moment. */
  readonly deadlineAt: number;
  /** @default - the setting `watch` */
  readonly mode?: Settings['watch'];
  readonly signal?: AbortSignal;
}

export interface WatchResult {
  readonly sweeps: number;
  readonly reclaimed: number;
  readonly failed: number;
  readonly redispatched: number;
  readonly cancelled: number;
  /** Why: nothing to wait for, out of time, told to stop, one sweep was asked for, a wrong clock, or switched off. */
  readonly ended: 'idle' | 'deadline' | 'stopped' | 'swept' | 'unsound' | 'disabled';
}

type Ended = WatchResult['ended'];
/** What comes next: the end, or another look at a moment. */
type Step = { readonly ended: Ended } | { readonly wakeAt: number };

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
  const { deadlineAt, signal, mode = settings.watch } = options;
  const endsAt = clock.monotonic() + deadlineAt - clock.now();
  const timeIsUp = () => signal?.aborted === true || clock.monotonic() >= endsAt;
  const memory = createSweepMemory(deps);
  const lead = createLead(deps, { name: deps.name, endsAt: deadlineAt, outlet: memory.outlet });
  const gaugeLive = createLiveLeasesGauge(deps, memory);
  const noticeSetClock = createSetClockNotice(deps, memory);

  const step = async (): Promise<Step> => {
    noticeSetClock();
    const begunAt = clock.now();
    const notBefore = begunAt + settings.minSweepIntervalMs;
    if (!(await clockIsSound(deps))) {
      await standBack(deps, lead);
      return mode === 'never' ? { ended: 'unsound' } : { wakeAt: begunAt + settings.skewMs };
    }
    const role = await lead.seek();
    if (!role.leads)
      return { wakeAt: Math.max(notBefore, Math.min(role.leaderUntil, begunAt + longestSleepMs(settings))) };
    const result = await sweep(deps, { shards: role.shards, memory, shouldStop: timeIsUp });
    totals.sweeps += 1;
    for (const key of ['reclaimed', 'failed', 'redispatched', 'cancelled'] as const)
      totals[key] += result[key];
    await gaugeLive(role.shards);
    deps.flush?.();
    if (changes(result) > 0) lead.announce();
    if (mode === 'never' && result.skipped.heldBack === 0) return { ended: 'swept' };
    if (mode === 'whileBusy' && !isBusy(memory, { now: clock.now(), deadlineAt })) return { ended: 'idle' };
    if (result.complete || changes(result) > 0) await lead.keep();
    const next = soonest([...memory.outlooks.values()].map((outlook) => outlook.quietUntil)) ?? begunAt;
    return { wakeAt: Math.max(notBefore, Math.min(next, begunAt + longestSleepMs(settings))) };
  };

  const run = async (): Promise<Ended> => {
    while (!timeIsUp()) {
      const next = await step();
      if ('ended' in next) return next.ended;
      // Nothing can lapse before the successor looks: to wait out the rest would only cost.
      if (next.wakeAt >= deadlineAt) return 'deadline';
      lead.announce();
      if (!(await sleepUntil(next.wakeAt, deps, signal))) return 'stopped';
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

/**
 * Whether there is anything to wait for: a live lease, a shard in trouble or not yet empty, or a pending job that falls
 * due before the deadline.
 */
function isBusy(memory: SweepMemory, { now, deadlineAt }: { now: number; deadlineAt: number }): boolean {
  return (
    outlooksOf(memory, 'running').some((o) => o.nextLapseAt !== undefined) ||
    outlooksOf(memory, 'pending').some((o) => o.nextLapseAt !== undefined && o.nextLapseAt < deadlineAt) ||
    [...memory.outlooks.values()].some((o) => o.failures > 0 || o.quietUntil <= now)
  );
}

/** Asks the store for its time where it is not known yet, or was too far off: a clock may be set right meanwhile. */
async function clockIsSound({ table, clockGuard }: ReaperDeps): Promise<boolean> {
  if (clockGuard === undefined) return true;
  if (clockGuard.offset() === undefined || !clockGuard.isSound())
    await table.read(LEADER_KEY).catch(() => undefined);
  return clockGuard.isSound();
}

/** A reaper with a wrong clock would take live leases: it leaves the lead to others and only measures again. */
async function standBack(
  { clockGuard, settings, telemetry }: ReaperDeps,
  lead: Pick<Lead, 'giveUp'>,
): Promise<void> {
  await lead.giveUp();
  const offset = clockGuard?.offset();
  telemetry.gauge('ClockOffset', offset?.offsetMs ?? 0);
  telemetry.warn('clock differs too much from the store’s: nothing is swept', {
    offsetMs: offset?.offsetMs,
    uncertaintyMs: offset?.uncertaintyMs,
    allowedMs: settings.skewMs / 2,
  });
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
