import { createEventOutlet, type EventOutlet } from '../protocol/event-outlet.ts';
import type { Random, WakeQueue } from '../protocol/ports.ts';
import { type ReaperRow, readReaperRow, scheduleNext } from '../protocol/store/reaper-row.ts';
import { type NextSweep, renewWakeWrite } from '../protocol/writes/reaper-row-writes.ts';
import type { EventDetails } from '../wire/events.ts';
import type { ReaperDeps } from './deps.ts';
import { gaugeLiveLeases } from './gauge-live-leases.ts';
import { gaugeWaiting, isNewPeriod } from './gauge-waiting.ts';
import { reportUnsoundClock } from './report.ts';
import { type SweepOptions, type SweepResult, sweep } from './sweep.ts';
import { COUNTED } from './sweep-counts.ts';
import {
  BACKUP_MS,
  isMissed,
  isStuck,
  nextLookAt,
  partOf,
  planWake,
  type Trigger,
  wakeDelaySeconds,
} from './wake.ts';

export interface ReapDeps extends ReaperDeps {
  /** Shared by all environments of one function, unique for each process. */
  readonly name: string;
  readonly random: Pick<Random, 'next' | 'unique'>;
  /** Starts a function for the next sweep; optional for a process. */
  readonly wakeQueue?: WakeQueue;
}

export interface ReapResult extends Readonly<typeof NOTHING_DONE> {
  readonly ended: 'swept' | 'superseded' | 'unsound' | 'disabled';
  /** Undefined if another reaper holds the promise of the next sweep. */
  readonly term?: number;
  readonly nextAt?: number;
}

export interface ReapBounds {
  /** No sweep and no page starts after this time. */
  readonly deadlineAt: number;
  readonly signal?: AbortSignal;
}

const NOTHING_DONE = { sweeps: 0, reclaimed: 0, quarantined: 0, redispatched: 0, cancelled: 0 };
/** Soon enough that no process takes over, and late enough that most sweeps need no renewal. */
const FIRST_RENEWED_MS = 150;
const RENEWED_EVERY_MS = 4000;
const RENEWED_BY_MS = 10_000;
/** Spreads takeovers by several processes. */
const JITTER_MS = 300;

/** Sweeps if due, then promises the next sweep on the reaper's row. If it crashes, the old promise still stands and others keep it. */
export async function reap(deps: ReapDeps, trigger: Trigger, bounds: ReapBounds): Promise<ReapResult> {
  const { clock, settings, telemetry, clockGuard } = deps;
  if (!settings.reaperEnabled) {
    telemetry.info('reaper is switched off: nothing is swept', { setting: 'reaperEnabled' });
    return { ...NOTHING_DONE, ended: 'disabled' };
  }
  // This reply also shows whether the clock is sound.
  const row = await readReaperRow(deps).catch((error: Error) => error);
  if (clockGuard?.isSound() === false) {
    reportUnsoundClock(deps);
    return { ...NOTHING_DONE, ended: 'unsound', nextAt: clock.now() + settings.skewMs };
  }
  const outlet = createEventOutlet(deps);
  try {
    if (!(row instanceof Error)) return await keepPromise(deps, row, trigger, bounds, outlet);
    // Without the row no reaper knows who should sweep, and two sweeps are better than none.
    await sweepUntilDone(deps, bounds, { outlet });
    throw row;
  } finally {
    await outlet.settle();
  }
}

async function keepPromise(
  deps: ReapDeps,
  row: ReaperRow,
  trigger: Trigger,
  bounds: ReapBounds,
  outlet: EventOutlet,
): Promise<ReapResult> {
  const { clock, random, settings, telemetry } = deps;
  const now = clock.now();
  const part = partOf(row, trigger, now, settings);
  if (part === 'waits')
    return {
      ...NOTHING_DONE,
      ended: 'superseded',
      term: termOf(row, deps),
      nextAt:
        trigger.kind === 'timer'
          ? nextLookAt(row, trigger, Math.floor(random.next() * JITTER_MS), now, settings)
          : undefined,
    };
  const isWhole =
    trigger.kind === 'tick' || now - row.wholeAt >= settings.reaperIntervalMs || row.wholeAt > now;
  const work = async () => {
    const done = await sweepUntilDone(deps, bounds, { shards: row.shards, outlet, isWhole });
    // Only the schedule repairs a broken chain of wakes, so an alarm watches for missing ticks.
    if (trigger.kind === 'tick') telemetry.gauge('SweepDuration', done.last.result.durationMs);
    return done;
  };
  if (part === 'helps') return { ...(await work()).totals, ended: 'swept' };
  if (isMissed(row.wakeAt, now)) telemetry.count('ReaperLate');
  const { totals, last } = await postponeWhile(work, deps, row);
  const isIdle = last.result.nextLapseAt === undefined;
  const gaugedAt = isIdle ? row.gaugedAt : await gaugeLiveLeases(deps, row);
  if (isWhole && isNewPeriod(row.wholeAt, now) && last.result.mayHoldParked)
    await gaugeWaiting(deps, row.shards);
  const wakeAt = planWake(last.result, { begunAt: last.begunAt, now: clock.now() }, settings);
  // Another process may do better and takes over once the promise is late; a lone process continues.
  if (trigger.kind === 'timer' && isStuck(last.result))
    return { ...totals, ended: 'swept', term: termOf(row, deps), nextAt: wakeAt };
  const promised = { wakeAt, gaugedAt, wholeAt: isWhole ? now : row.wholeAt };
  const term = await promise(deps, row, promised, trigger, outlet);
  return { ...totals, ended: 'swept', term, nextAt: term === undefined ? clock.now() : wakeAt };
}

const termOf = ({ holder, term }: ReaperRow, { name }: ReapDeps): number | undefined =>
  holder === name ? term : undefined;

/** Repeats the sweep while it holds lapsed leases back. */
async function sweepUntilDone(
  deps: ReapDeps,
  { deadlineAt, signal }: ReapBounds,
  options: SweepOptions,
): Promise<{ totals: typeof NOTHING_DONE; last: { result: SweepResult; begunAt: number } }> {
  const { clock, settings } = deps;
  const totals = { ...NOTHING_DONE };
  const endsAt = clock.monotonic() + deadlineAt - clock.now();
  const shouldStop = () => signal?.aborted === true || clock.monotonic() >= endsAt;
  for (let next = options; ; next = { ...options, isCatchingUp: true }) {
    const begunAt = clock.now();
    const result = await sweep(deps, { ...next, shouldStop });
    totals.sweeps += 1;
    for (const kind of Object.values(COUNTED)) totals[kind] += result[kind];
    const wait = Math.max(0, begunAt + settings.minSweepIntervalMs - clock.now());
    const isDone = result.skipped.overCap === 0 || isStuck(result);
    if (isDone || signal?.aborted || clock.monotonic() + wait >= endsAt)
      return { totals, last: { result, begunAt } };
    await clock.sleep(wait, signal).catch(() => {});
  }
}

/** The message goes first, because a promise without one would start no reaper. Returns the term if the promise stands. */
async function promise(
  deps: ReapDeps,
  row: ReaperRow,
  promised: Pick<NextSweep, 'wakeAt' | 'gaugedAt' | 'wholeAt'>,
  trigger: Trigger,
  outlet: EventOutlet,
): Promise<number | undefined> {
  const { wakeQueue, random, clock, name } = deps;
  const wake = random.unique();
  // Used only if the process cannot keep its promise.
  const messageAt = promised.wakeAt + (trigger.kind === 'timer' ? BACKUP_MS : 0);
  await wakeQueue?.send(wake, wakeDelaySeconds(messageAt, clock.now()));
  const isNew = row.holder !== name;
  const term = row.term + (isNew ? 1 : 0);
  if (!(await scheduleNext(deps, { wake, holder: name, term, ...promised }, row.wake))) return undefined;
  if (isNew) publishLeadership(deps, outlet, 'acquired', term);
  return term;
}

export function publishLeadership(
  { clock, telemetry, name: leader }: ReapDeps,
  outlet: EventOutlet,
  change: EventDetails['ReaperLeadershipChanged']['change'],
  term: number,
): void {
  telemetry.info(`reaper leadership ${change}`, { leader, term });
  outlet.publish([{ name: 'ReaperLeadershipChanged', detail: { leader, change, term, at: clock.now() } }]);
}

/** Postpones the promised sweep during the work, so that other reapers do not take over. */
async function postponeWhile<T>(
  work: () => Promise<T>,
  { table, clock, telemetry }: ReapDeps,
  { wake }: ReaperRow,
): Promise<T> {
  const over = new AbortController();
  const renewing = (async () => {
    for (let waitMs = FIRST_RENEWED_MS; wake !== undefined; waitMs = RENEWED_EVERY_MS) {
      await clock.sleep(waitMs, over.signal);
      await table.apply(renewWakeWrite(wake, clock.now() + RENEWED_BY_MS)).catch((error: unknown) => {
        telemetry.warn('the next sweep could not be postponed', { reason: String(error) });
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
