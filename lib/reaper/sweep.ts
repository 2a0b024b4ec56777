import { lapsesAt } from '../protocol/decisions/decide-reap.ts';
import { inParallel } from '../protocol/in-parallel.ts';
import type { LeaseEntry } from '../protocol/job.ts';
import { allShards } from '../protocol/shards.ts';
import { type LeasePage, readLeases } from '../protocol/store/lease-index.ts';
import { longestWaitAfterOutage } from '../settings/lease-length.ts';
import { longestSleepMs } from '../settings/longest-sleep.ts';
import { MAX_HINT_DELAY_MS } from '../wire/queues.ts';
import { assessBreaker, type BreakerVerdict, type FirstLook, shareOut } from './breaker.ts';
import type { ReaperDeps } from './deps.ts';
import { haveLapsedTogether } from './lapsed-together.ts';
import { createTurns, LARGE_READS_AT_ONCE, type Turns } from './large-reads.ts';
import { createReapWriter, type ExcuseOf, REAP_CHUNK, type ReapWriter } from './reap-writer.ts';
import { reportBreaker, reportSweep } from './report.ts';
import { createSweepTally, leaveBehind, type SweepCounts, type SweepTally } from './sweep-counts.ts';
import {
  asJudged,
  createSweepMemory,
  outlooksOf,
  type ShardOutlook,
  type SweepMemory,
  soonest,
} from './sweep-memory.ts';
import { hasHung } from './wake.ts';

/** What one sweep looks at, and when it stops. */
export interface SweepOptions {
  /** The highest number of shards ever used, where it is above the settings'. */
  readonly shards?: number;
  /** Of earlier sweeps of the same invocation. Without it, every shard is read and every row gets a chance. */
  readonly memory?: SweepMemory;
  /** Asked before every page: no new one is begun once it says true. */
  readonly shouldStop?: () => boolean;
  /** Pending shards are left alone: they wait for a sweep that looks at all. */
  readonly runningOnly?: boolean;
  /** The sweep before this one was promised and did not happen: what ended meanwhile may have waited for the reaper. */
  readonly missedSweep?: boolean;
  /** Told that the breaker opens, before the first row is moved under it. */
  readonly onBreakerOpened?: () => Promise<void>;
}

/** What one sweep did. */
export interface SweepResult extends SweepCounts {
  /** Every lapsed lease was looked at, and written unless its row forbids it. */
  readonly complete: boolean;
  /** Something could not be read, or not be written for a passing reason. */
  readonly inTrouble: boolean;
  /** When the running shard that was read longest ago was read. */
  readonly lookedAt: number;
  readonly breakerOpen: boolean;
  readonly durationMs: number;
  /** Age of the oldest lapsed lease that was left behind; 0 if none was. */
  readonly oldestLapsedMs: number;
  /** When the soonest live lease of a running job lapses; undefined when none is live. */
  readonly nextLapseAt?: number;
  /** When the soonest pending job must be hinted; undefined when none is pending. */
  readonly nextDueAt?: number;
}

/** A dozen entries cost as little as one, and usually the first of them is live. */
const FIRST_PAGE = 12;
const PAGE_GROWTH = 4;
const SHARDS_AT_ONCE = 32;

interface Round {
  readonly startedAt: number;
  readonly tally: SweepTally;
  readonly memory: SweepMemory;
  readonly shouldStop: () => boolean;
  /** For all pages but the first, which are small. */
  readonly inTurn: Turns;
}

/** The first page of a shard. */
interface Look {
  readonly shard: string;
  readonly readAt: number;
  readonly page: LeasePage;
  readonly limit: number;
  readonly lapsed: readonly LeaseEntry[];
  /** The soonest live entry, where the page reached one. */
  readonly live: LeaseEntry | undefined;
  /** How many are live, where one page holds the whole shard. */
  readonly liveCount: number | undefined;
  readonly oldest: number;
}

/**
 * Repairs everything whose lease has lapsed by the start of the sweep: running shards first, so that no crash waits behind
 * a backlog. Costs by the number of lapsed leases alone. Whatever goes wrong with one row, batch or shard leaves the
 * others alone, and is found again by a later sweep.
 */
export async function sweep(deps: ReaperDeps, options: SweepOptions = {}): Promise<SweepResult> {
  const { clock, settings } = deps;
  const memory = options.memory ?? createSweepMemory(deps);
  const tally = createSweepTally();
  const round: Round = {
    startedAt: clock.now(),
    tally,
    memory,
    shouldStop: options.shouldStop ?? (() => false),
    inTurn: createTurns(LARGE_READS_AT_ONCE),
  };
  const began = clock.monotonic();
  const { running, pending } = allShards(Math.max(settings.shards, options.shards ?? 0));

  const firstPage = memory.breaker.open ? firstPageWhileOpen(deps, running.length) : FIRST_PAGE;
  const looks = await lookAt(running, firstPage, deps, round);
  const breaker = await assessBreaker(deps, memory.breaker, looks.map(firstLook), {
    now: round.startedAt,
    runningShards: running,
  });
  memory.outlet.publish(reportBreaker(deps, breaker, round.startedAt));
  if (breaker.change === 'opened') await options.onBreakerOpened?.();
  const together = await haveLapsedTogether(deps, memory, looks, {
    now: round.startedAt,
    runningShards: running,
  });
  // A look that hung until the store answered again was as late as one that failed.
  if (options.missedSweep === true || hasHung(clock.now() - round.startedAt)) memory.lateUntil = clock.now();
  const all = breaker.open || together ? 'many leases lapsed together' : undefined;
  const excuseOf = (entry: LeaseEntry) =>
    all ?? (isOfLateTime(entry, memory) ? 'the reaper was late' : undefined);
  await drain(looks, { ...breaker, excuseOf }, deps, round);
  memory.breaker.heldBack = tally.skipped.heldBack > 0;
  const isWhole = options.runningOnly !== true;
  if (isWhole) {
    const waiting = await lookAt(pending, FIRST_PAGE, deps, round);
    await drain(waiting, { open: false, budget: Number.POSITIVE_INFINITY }, deps, round);
  }

  const result = summarise(round, breaker, clock.monotonic() - began, clock.now());
  reportSweep(deps, result, { ...tally, isWhole });
  if (options.memory === undefined) await memory.outlet.settle();
  return result;
}

/**
 * Whether a lease ended while the reaper could not look, or so soon after that its worker could not get through yet: whatever kept the reaper from
 * the store may have kept the worker. Also where it lapses only in a later sweep, because of the skew.
 */
const isOfLateTime = ({ leaseUntil, leaseMs }: LeaseEntry, { lateUntil }: SweepMemory): boolean =>
  leaseUntil <= lateUntil + longestWaitAfterOutage(leaseMs);

/** Reads the first page of every shard that may hold something lapsed. */
async function lookAt(
  shards: readonly string[],
  limit: number,
  deps: ReaperDeps,
  round: Round,
): Promise<Look[]> {
  const { memory, startedAt, shouldStop } = round;
  const due = shards.filter((shard) => (memory.outlooks.get(shard)?.quietUntil ?? 0) <= startedAt);
  const looks: Look[] = [];
  await inParallel(due, SHARDS_AT_ONCE, async (shard) => {
    if (shouldStop()) return void memory.outlooks.delete(shard);
    const readAt = deps.clock.now();
    const page = await readPage(deps, round, { shard, limit });
    if (page === undefined) return;
    const sifted = sift(page, deps, round);
    const oldest = sifted.lapsed[0]?.leaseUntil ?? Number.POSITIVE_INFINITY;
    looks.push({ shard, readAt, page, limit, oldest, ...sifted });
  });
  return looks;
}

const firstPageWhileOpen = ({ settings }: ReaperDeps, shards: number) =>
  Math.min(REAP_CHUNK, Math.max(FIRST_PAGE, Math.ceil(settings.breakerPerSweep / shards)));

const mayHoldMore = ({ live, page }: Look) => live === undefined && page.cursor !== undefined;

const firstLook = (look: Look): FirstLook => ({
  shard: look.shard,
  lapsed: look.lapsed.length,
  mayHoldMore: mayHoldMore(look),
  live: look.liveCount,
});

/** Moves what has lapsed in these shards, and notes when each must be looked at again. */
async function drain(
  looks: readonly Look[],
  terms: Pick<BreakerVerdict, 'open' | 'budget'> & { readonly excuseOf?: ExcuseOf },
  deps: ReaperDeps,
  round: Round,
): Promise<void> {
  const writer = createReapWriter(deps, { ...round, breakerOpen: terms.open, excuseOf: terms.excuseOf });
  const quotas = shareOut(
    terms.budget,
    looks.filter((look) => look.lapsed.length > 0 || mayHoldMore(look)),
  );
  const outlooks = new Map<string, Omit<ShardOutlook, 'failures'>>();
  await inParallel(looks, SHARDS_AT_ONCE, async (look) => {
    const outlook = await drainShard(look, quotas.get(look) ?? 0, writer, deps, round);
    if (outlook !== undefined) outlooks.set(look.shard, outlook);
  });
  await writer.finish();
  for (const [shard, outlook] of outlooks) {
    if (round.tally.unwrittenShards.has(shard)) noteFailure(shard, deps, round, outlook);
    else round.memory.outlooks.set(shard, { ...outlook, failures: 0 });
  }
}

/** Walks one shard from its first page to its first live lease. Undefined when a page could not be read. */
async function drainShard(
  look: Look,
  quota: number,
  writer: ReapWriter,
  deps: ReaperDeps,
  round: Round,
): Promise<Omit<ShardOutlook, 'failures'> | undefined> {
  let { page, lapsed, live, limit, readAt } = look;
  const again = { quietUntil: round.startedAt, lookedAt: readAt };
  let left = quota;
  // The cursor is a place in the order, not a row: what was moved, or could not be, is behind it and stays there.
  for (;;) {
    await writer.add(lapsed.slice(0, left));
    if (lapsed.length > left) {
      leaveBehind(round.tally, 'heldBack', lapsed.slice(left));
      return again;
    }
    left -= lapsed.length;
    if (live !== undefined || page.cursor === undefined) break;
    if (left === 0 && lapsed.length > 0) {
      // At least one more, and it lapsed no earlier than the last one seen.
      leaveBehind(round.tally, 'heldBack', lapsed.slice(-1));
      return again;
    }
    if (writer.stopped || round.shouldStop()) {
      leaveBehind(round.tally, 'stopped', lapsed.slice(-1));
      return again;
    }
    limit = Math.min(limit * PAGE_GROWTH, REAP_CHUNK, Math.max(left, FIRST_PAGE));
    const request = { shard: look.shard, limit, cursor: page.cursor };
    const next = await round.inTurn(() => {
      readAt = deps.clock.now();
      return readPage(deps, round, request);
    });
    if (next === undefined) return undefined;
    page = next;
    ({ lapsed, live } = sift(page, deps, round));
  }
  return outlookOf(look, readAt, live, deps);
}

function outlookOf(
  look: Look,
  readAt: number,
  live: LeaseEntry | undefined,
  { settings }: ReaperDeps,
): Omit<ShardOutlook, 'failures'> {
  const unseen = look.shard.startsWith('r')
    ? longestSleepMs(settings)
    : // A job that becomes pending after this look has a hint under way, or is due beyond the longest delay of one.
      Math.min(settings.dispatchLeaseMs, MAX_HINT_DELAY_MS);
  const nextLapseAt = live && lapsesAt(live, settings);
  return {
    lookedAt: readAt,
    quietUntil: Math.min(nextLapseAt ?? Number.POSITIVE_INFINITY, readAt + unseen),
    nextLapseAt,
    live: look.liveCount,
  };
}

/** Tells lapsed entries that are worth a write from the first live one. */
function sift(page: LeasePage, deps: ReaperDeps, { startedAt, tally, memory }: Round) {
  tally.scanned += page.entries.length + page.bad.length;
  for (const bad of page.bad) {
    if (memory.unreadable.has(bad.jobId)) continue;
    memory.unreadable.add(bad.jobId);
    tally.skipped.bad += 1;
    deps.telemetry.error('row cannot be read and is skipped', bad, { jobId: bad.jobId });
  }
  const end = page.entries.findIndex((entry) => lapsesAt(entry, deps.settings) > startedAt);
  const live = page.entries[end];
  const lapsed = (end < 0 ? page.entries : page.entries.slice(0, end)).filter((entry) => {
    const past = memory.unmoved.get(asJudged(entry));
    if (past === 'refused') leaveBehind(tally, 'before', [entry]);
    else if (past === 'moved') tally.skipped.before += 1;
    return past === undefined;
  });
  const liveCount =
    page.cursor === undefined ? page.entries.length - (end < 0 ? page.entries.length : end) : undefined;
  return { lapsed, live, liveCount };
}

async function readPage(
  deps: ReaperDeps,
  round: Round,
  request: Parameters<typeof readLeases>[1],
): Promise<LeasePage | undefined> {
  try {
    return await readLeases(deps.table, request);
  } catch (error) {
    round.tally.errors += 1;
    round.tally.firstError ??= error as Error;
    noteFailure(request.shard, deps, round);
    return undefined;
  }
}

/** A shard in trouble is looked at again soon, then ever more seldom, while the others keep their own pace. */
function noteFailure(
  shard: string,
  { clock, settings }: ReaperDeps,
  { memory }: Round,
  outlook?: Omit<ShardOutlook, 'failures'>,
): void {
  const failures = (memory.outlooks.get(shard)?.failures ?? 0) + 1;
  const pause = Math.min(settings.minSweepIntervalMs * 2 ** failures, longestSleepMs(settings));
  const retryAt = clock.now() + pause;
  memory.outlooks.set(shard, {
    ...outlook,
    lookedAt: outlook?.lookedAt ?? memory.outlooks.get(shard)?.lookedAt,
    quietUntil: Math.min(outlook?.quietUntil ?? retryAt, retryAt),
    failures,
  });
}

function summarise(round: Round, breaker: BreakerVerdict, durationMs: number, now: number): SweepResult {
  const { firstError: _error, oldestLeft, unwrittenShards, ...counts } = round.tally;
  const { skipped, errors } = counts;
  const nextLapseAt = soonest(outlooksOf(round.memory, 'running').map((o) => o.nextLapseAt));
  const nextDueAt = soonest(outlooksOf(round.memory, 'pending').map((o) => o.nextLapseAt));
  return {
    ...counts,
    inTrouble: errors + unwrittenShards.size > 0,
    lookedAt: soonest(outlooksOf(round.memory, 'running').map((o) => o.lookedAt)) ?? round.startedAt,
    complete: errors + skipped.heldBack + skipped.stopped + unwrittenShards.size === 0 && !round.shouldStop(),
    breakerOpen: breaker.open,
    durationMs,
    oldestLapsedMs: oldestLeft === undefined ? 0 : Math.max(0, now - oldestLeft),
    nextLapseAt,
    nextDueAt,
  };
}
