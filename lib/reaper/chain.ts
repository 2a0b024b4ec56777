import type { Chance, WakeQueue } from '../protocol/ports.ts';
import { createReaperPlace, type ReaperPlace, type ReaperRow } from '../protocol/store/reaper-row.ts';
import { keepBreaker } from './breaker-keeper.ts';
import type { ReaperDeps } from './deps.ts';
import { LONGEST_LEAD_MS } from './leadership.ts';
import { GAUGE_EVERY_MS, gaugeLiveLeases } from './live-leases.ts';
import { reportUnsoundClock } from './report.ts';
import { type SweepResult, sweep } from './sweep.ts';
import { createSweepMemory, type SweepMemory } from './sweep-memory.ts';
import {
  hasHung,
  isMissed,
  lookAgainAt,
  mustArm,
  type Occasion,
  planWake,
  wakeDelaySeconds,
} from './wake.ts';

export interface ChainDeps extends ReaperDeps {
  readonly wakeQueue: WakeQueue;
  readonly chance: Pick<Chance, 'unique'>;
  /** Writes out the metrics gathered so far. */
  readonly flush?: () => void;
}

export interface ChainResult {
  readonly sweeps: number;
  readonly reclaimed: number;
  readonly failed: number;
  readonly redispatched: number;
  readonly cancelled: number;
  /** Why it ended: the sweep is done, another message counts, a process leads, a wrong clock, or switched off. */
  readonly ended: 'swept' | 'superseded' | 'led' | 'unsound' | 'disabled';
  /** When the next sweep was promised, where this reaper did so. */
  readonly wakeAt?: number;
}

/** The promise is put off so often, and by so much, while a reaper is at work. */
const RENEWED_EVERY_MS = 4000;
const RENEWED_BY_MS = 10_000;

/**
 * One link of the chain of reapers: sweeps until nothing is held back and no lapse is near, then sends the message that
 * starts the next, and only then names it on the row. A reaper that dies in between leaves the message before, which SQS
 * delivers again, and the next tick of the schedule.
 */
export async function reapInChain(
  deps: ChainDeps,
  occasion: Occasion,
  bounds: { readonly deadlineAt: number },
): Promise<ChainResult> {
  try {
    return await reapOnce(deps, occasion, bounds);
  } finally {
    // Whatever happened: an invocation that cannot even read its row must not keep to itself that it could not.
    deps.flush?.();
  }
}

async function reapOnce(
  deps: ChainDeps,
  occasion: Occasion,
  { deadlineAt }: { readonly deadlineAt: number },
): Promise<ChainResult> {
  const { clock, settings, telemetry, clockGuard } = deps;
  const none = { sweeps: 0, reclaimed: 0, failed: 0, redispatched: 0, cancelled: 0 };
  if (!settings.reaperEnabled) {
    telemetry.info('reaper is switched off: nothing is swept', { setting: 'reaperEnabled' });
    return { ...none, ended: 'disabled' };
  }
  const place = createReaperPlace(deps);
  // This reply also tells whether the clock is sound.
  const askedAt = clock.now();
  const row = await place.read();
  const isLate = hasHung(clock.now() - askedAt);
  if (clockGuard?.isSound() === false) {
    reportUnsoundClock(deps);
    return { ...none, ended: 'unsound' };
  }
  if (occasion.kind === 'wake' && (row.wake === undefined || !occasion.tokens.includes(row.wake)))
    return { ...none, ended: 'superseded' };
  const arms = mustArm(row, occasion, clock.now(), settings);
  const arm = createArm(deps, place, row);
  const leaderUntil = leadElsewhere(row, clock.now());
  if (leaderUntil !== undefined) {
    if (arms) await arm({ wakeAt: leaderUntil, gaugedAt: row.gaugedAt });
    return { ...none, ended: 'led', wakeAt: arms ? leaderUntil : undefined };
  }
  const memory = createSweepMemory(deps, row.breakerOpen);
  if (isLate) memory.lateUntil = clock.now();
  try {
    const work = () => sweepUntilDone(deps, { occasion, row, memory, place, deadlineAt });
    const { totals, last } = await (arms ? atWork(deps, place, row, work) : work());
    if (!arms) return { ...totals, ended: 'swept' };
    const gaugedAt = await gauge(deps, memory, row);
    const wakeAt = planWake(last.result, { begunAt: last.begunAt, now: clock.now() }, settings);
    await arm({ wakeAt, gaugedAt });
    return { ...totals, ended: 'swept', wakeAt };
  } finally {
    await memory.outlet.settle();
  }
}

/** Until when a reaper in a process leads; undefined when none does, or when no reaper can lead for so long. */
const leadElsewhere = ({ leaderUntil }: ReaperRow, now: number): number | undefined =>
  leaderUntil !== undefined && leaderUntil > now && leaderUntil <= now + LONGEST_LEAD_MS
    ? leaderUntil
    : undefined;

type Totals = Omit<ChainResult, 'ended' | 'wakeAt'>;

async function sweepUntilDone(
  deps: ChainDeps,
  context: {
    readonly occasion: Occasion;
    readonly row: ReaperRow;
    readonly memory: SweepMemory;
    readonly place: ReaperPlace;
    readonly deadlineAt: number;
  },
): Promise<{ totals: Totals; last: { result: SweepResult; begunAt: number } }> {
  const { clock, settings } = deps;
  const { occasion, row, memory, place, deadlineAt } = context;
  const totals = { sweeps: 0, reclaimed: 0, failed: 0, redispatched: 0, cancelled: 0 };
  const endsAt = clock.monotonic() + deadlineAt - clock.now();
  const breaker = keepBreaker(deps, place, row.breakerOpen);
  const missedSweep = isMissed(row.wakeAt, clock.now(), settings);
  if (missedSweep) deps.telemetry.count('ReaperLate');
  for (;;) {
    const begunAt = clock.now();
    const result = await sweep(deps, {
      shards: row.shards,
      memory,
      runningOnly: occasion.kind === 'wake',
      // Only the first is late: each that follows would move the time that is excused further.
      missedSweep: missedSweep && totals.sweeps === 0,
      shouldStop: () => clock.monotonic() >= endsAt,
      onBreakerOpened: breaker.opened,
    });
    await breaker.swept(memory.breaker.heldBack);
    totals.sweeps += 1;
    for (const key of ['reclaimed', 'failed', 'redispatched', 'cancelled'] as const)
      totals[key] += result[key];
    deps.flush?.();
    const nextAt = lookAgainAt(result, { begunAt, now: clock.now(), lateUntil: memory.lateUntil }, settings);
    const wait = (nextAt ?? 0) - clock.now();
    if (nextAt === undefined || clock.monotonic() + wait >= endsAt)
      return { totals, last: { result, begunAt } };
    await clock.sleep(Math.max(0, wait));
  }
}

/** Sends the message first: a crash before the write leaves a message that nobody counts, never a count without message. */
const createArm =
  ({ wakeQueue, chance, clock }: ChainDeps, place: ReaperPlace, row: ReaperRow) =>
  async (next: { readonly wakeAt: number; readonly gaugedAt: number }) => {
    const wake = chance.unique();
    await wakeQueue.send(wake, wakeDelaySeconds(next.wakeAt, clock.now()));
    await place.arm({ wake, ...next }, row.wake);
  };

/** Puts the promise off while the work lasts, so that no tick starts a second chain beside it. */
async function atWork<T>(
  { clock, telemetry }: ChainDeps,
  place: ReaperPlace,
  { wake }: ReaperRow,
  work: () => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  const renewing = (async () => {
    while (wake !== undefined) {
      await clock.sleep(RENEWED_EVERY_MS, over.signal);
      await place.renew(wake, clock.now() + RENEWED_BY_MS).catch((error: unknown) => {
        telemetry.warn('the next sweep could not be put off', { reason: String(error) });
      });
    }
  })().catch(() => {});
  try {
    return await work();
  } finally {
    over.abort();
    await renewing;
  }
}

/** Counts the live leases now and then; returns when they were last counted. */
async function gauge(deps: ChainDeps, memory: SweepMemory, row: ReaperRow): Promise<number> {
  const now = deps.clock.now();
  if (now - row.gaugedAt < GAUGE_EVERY_MS && row.gaugedAt <= now) return row.gaugedAt;
  await gaugeLiveLeases(deps, memory, row.shards);
  return now;
}
