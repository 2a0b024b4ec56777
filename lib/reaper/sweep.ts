import { lapsesAt } from '../protocol/decisions/decide-reap.ts';
import { inParallel } from '../protocol/in-parallel.ts';
import type { LeaseEntry } from '../protocol/job.ts';
import { allShards } from '../protocol/shards.ts';
import { type LeasePage, readLeases } from '../protocol/store/lease-index.ts';
import { longestPauseMs } from '../settings/longest-pause.ts';
import { MAX_HINT_DELAY_MS } from '../wire/queues.ts';
import type { ReaperDeps } from './deps.ts';
import { createReapWriter, REAP_CHUNK, type ReapWriter, type WriterContext } from './reap-writer.ts';
import { reportSweep } from './report.ts';
import { createSweepTally, leaveBehind, type SweepCounts } from './sweep-counts.ts';
import {
  createSweepMemory,
  decisionKey,
  runningShardStates,
  type ShardState,
  type SweepMemory,
  soonest,
} from './sweep-memory.ts';

/** What one sweep reads, and when it stops. */
export interface SweepOptions {
  /** The highest number of shards ever used, if above the setting. */
  readonly shards?: number;
  /** From earlier sweeps of this invocation. */
  readonly memory?: SweepMemory;
  readonly shouldStop?: () => boolean;
  /** Whether to read pending jobs, too. @default true */
  readonly isWhole?: boolean;
}

/** The result of one sweep. */
export interface SweepResult extends SweepCounts {
  /** Every lapsed lease was read and, unless its row forbids it, written. */
  readonly complete: boolean;
  /** A read failed, or a write failed in a way that is worth a retry. */
  readonly inTrouble: boolean;
  readonly lookedAt: number;
  readonly durationMs: number;
  readonly oldestLapsedMs: number;
  readonly nextLapseAt?: number;
}

/** Reading a dozen entries costs no more than one, and usually the first is live. */
const FIRST_PAGE = 12;
const PAGE_GROWTH = 4;
const SHARDS_AT_ONCE = 32;
/** Larger reads slow other users of the table. */
export const LARGE_READS_AT_ONCE = 2;
/** Writing more would slow other users of the table. */
const MOVED_PER_SWEEP = 1000;

interface Round extends WriterContext {
  readonly startedAt: number;
  readonly shouldStop: () => boolean;
}

interface Look {
  readonly shard: string;
  readonly readAt: number;
  readonly page: LeasePage;
  readonly limit: number;
  readonly lapsed: readonly LeaseEntry[];
  readonly live: LeaseEntry | undefined;
  /** Set if one page holds the whole shard. */
  readonly liveCount: number | undefined;
}

/** Handles all lapsed leases, running shards first; a fault in one row, batch or shard is left to a later sweep. */
export async function sweep(deps: ReaperDeps, options: SweepOptions = {}): Promise<SweepResult> {
  const { clock, settings } = deps;
  const { isWhole = true, memory = createSweepMemory(deps), shouldStop = () => false } = options;
  const tally = createSweepTally();
  const round: Round = { startedAt: clock.now(), tally, memory, shouldStop };
  const began = clock.monotonic();
  const { running, pending } = allShards(Math.max(settings.shards, options.shards ?? 0));

  const looks = await lookAt(running, firstPageSize(memory, running.length), deps, round);
  await drain(looks, MOVED_PER_SWEEP, deps, round);
  if (tally.skipped.overCap > 0) memory.overCapUntil = round.startedAt;
  if (isWhole) {
    const waiting = await lookAt(pending, FIRST_PAGE, deps, round);
    await drain(waiting, Number.POSITIVE_INFINITY, deps, round);
  }

  const result = summarise(round, clock.monotonic() - began, clock.now());
  reportSweep(deps, result, tally);
  if (options.memory === undefined) await memory.outlet.settle();
  return result;
}

async function lookAt(
  shards: readonly string[],
  limit: number,
  deps: ReaperDeps,
  round: Round,
): Promise<Look[]> {
  const { memory, startedAt, shouldStop } = round;
  const due = shards.filter((shard) => (memory.shardStates.get(shard)?.nextCheckAt ?? 0) <= startedAt);
  const looks: Look[] = [];
  await inParallel(due, SHARDS_AT_ONCE, async (shard) => {
    if (shouldStop()) return void memory.shardStates.delete(shard);
    const readAt = deps.clock.now();
    const page = await readPage(deps, round, { shard, limit });
    if (page === undefined) return;
    looks.push({ shard, readAt, page, limit, ...partitionLapsed(page, deps, round) });
  });
  return looks;
}

/** After a sweep that hit MOVED_PER_SWEEP, the first page is as large as a shard's share of it. */
const firstPageSize = ({ overCapUntil }: SweepMemory, shards: number): number =>
  overCapUntil === Number.NEGATIVE_INFINITY
    ? FIRST_PAGE
    : Math.min(REAP_CHUNK, Math.max(FIRST_PAGE, Math.ceil(MOVED_PER_SWEEP / shards)));

const mayHoldMore = ({ live, page }: Look) => live === undefined && page.cursor !== undefined;

async function drain(looks: readonly Look[], most: number, deps: ReaperDeps, round: Round): Promise<void> {
  const writer = createReapWriter(deps, round);
  const lapsed = looks.filter((look) => look.lapsed.length > 0 || mayHoldMore(look));
  const quotas = shareOut(most, lapsed);
  const shardStates = new Map<string, Omit<ShardState, 'failures'>>();
  // Shards without further pages must not wait behind a backlog.
  const inOrder = [...looks].sort((a, b) => Number(mayHoldMore(a)) - Number(mayHoldMore(b)));
  await inParallel(inOrder, LARGE_READS_AT_ONCE, async (look) => {
    const state = await drainShard(look, quotas.get(look) ?? 0, writer, deps, round);
    if (state !== undefined) shardStates.set(look.shard, state);
  });
  await writer.finish();
  for (const [shard, state] of shardStates) {
    if (round.tally.unwrittenShards.has(shard)) noteFailure(shard, deps, round, state);
    else round.memory.shardStates.set(shard, { ...state, failures: 0 });
  }
}

/** Reads up to the first live lease; undefined if a page could not be read. */
async function drainShard(
  look: Look,
  quota: number,
  writer: ReapWriter,
  deps: ReaperDeps,
  round: Round,
): Promise<Omit<ShardState, 'failures'> | undefined> {
  let { page, lapsed, live, limit, readAt } = look;
  const again = { nextCheckAt: round.startedAt, lookedAt: readAt };
  let left = quota;
  for (;;) {
    await writer.add(lapsed.slice(0, left));
    if (lapsed.length > left) {
      leaveBehind(round.tally, 'overCap', lapsed.slice(left));
      return again;
    }
    left -= lapsed.length;
    if (live !== undefined || page.cursor === undefined) break;
    const isSpent = left === 0 && lapsed.length > 0;
    if (isSpent || writer.hasStopped() || round.shouldStop()) {
      // Stands for the entries not read, which lapsed no earlier than the last one seen.
      leaveBehind(round.tally, isSpent ? 'overCap' : 'stopped', lapsed.slice(-1));
      return again;
    }
    limit = Math.min(limit * PAGE_GROWTH, REAP_CHUNK, Math.max(left, FIRST_PAGE));
    readAt = deps.clock.now();
    const next = await readPage(deps, round, { shard: look.shard, limit, cursor: page.cursor });
    if (next === undefined) return undefined;
    page = next;
    ({ lapsed, live } = partitionLapsed(page, deps, round));
  }
  return shardStateOf(look, readAt, live, deps);
}

function shardStateOf(
  look: Look,
  readAt: number,
  live: LeaseEntry | undefined,
  { settings }: ReaperDeps,
): Omit<ShardState, 'failures'> {
  const unseen = look.shard.startsWith('r')
    ? longestPauseMs(settings)
    : // A job that becomes pending after this read has a hint on the way, or is due after the longest hint delay.
      Math.min(settings.dispatchLeaseMs, MAX_HINT_DELAY_MS);
  const nextLapseAt = live && lapsesAt(live, settings);
  return {
    lookedAt: readAt,
    nextCheckAt: Math.min(nextLapseAt ?? Number.POSITIVE_INFINITY, readAt + unseen),
    nextLapseAt,
    live: look.liveCount,
    hasParked: look.page.entries.some((entry) => entry.status === 'pending' && entry.waitsFor !== undefined),
  };
}

function partitionLapsed(page: LeasePage, deps: ReaperDeps, { startedAt, tally, memory }: Round) {
  tally.scanned += page.entries.length + page.bad.length;
  for (const bad of page.bad) {
    if (memory.unreadable.has(bad.jobId)) continue;
    memory.unreadable.add(bad.jobId);
    tally.skipped.bad += 1;
    deps.telemetry.error('row cannot be read and is skipped', bad, { jobId: bad.jobId });
  }
  const { entries, cursor } = page;
  const firstLive = entries.findIndex((entry) => lapsesAt(entry, deps.settings) > startedAt);
  const end = firstLive < 0 ? entries.length : firstLive;
  const lapsed = entries.slice(0, end).filter((entry) => {
    const past = memory.unmoved.get(decisionKey(entry));
    if (past === 'refused') leaveBehind(tally, 'before', [entry]);
    else if (past === 'moved') tally.skipped.before += 1;
    return past === undefined;
  });
  return { lapsed, live: entries[end], liveCount: cursor === undefined ? entries.length - end : undefined };
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

/** A failing shard does not delay the others. */
function noteFailure(
  shard: string,
  { clock, settings }: ReaperDeps,
  { memory }: Round,
  state?: Omit<ShardState, 'failures'>,
): void {
  const failures = (memory.shardStates.get(shard)?.failures ?? 0) + 1;
  const pause = Math.min(settings.minSweepIntervalMs * 2 ** failures, longestPauseMs(settings));
  const retryAt = clock.now() + pause;
  memory.shardStates.set(shard, {
    ...state,
    lookedAt: state?.lookedAt ?? memory.shardStates.get(shard)?.lookedAt,
    nextCheckAt: Math.min(state?.nextCheckAt ?? retryAt, retryAt),
    failures,
  });
}

function summarise(round: Round, durationMs: number, now: number): SweepResult {
  const { firstError: _error, oldestLeft, unwrittenShards, ...counts } = round.tally;
  const { skipped, errors } = counts;
  const running = runningShardStates(round.memory);
  return {
    ...counts,
    inTrouble: errors + unwrittenShards.size > 0,
    lookedAt: soonest(running.map((state) => state.lookedAt)) ?? round.startedAt,
    complete: errors + skipped.overCap + skipped.stopped + unwrittenShards.size === 0 && !round.shouldStop(),
    durationMs,
    oldestLapsedMs: oldestLeft === undefined ? 0 : Math.max(0, now - oldestLeft),
    nextLapseAt: soonest(running.map((state) => state.nextLapseAt)),
  };
}

/** Splits evenly, then gives the rest to shards with the oldest lapses. */
function shareOut(most: number, looks: readonly Look[]): Map<Look, number> {
  if (!Number.isFinite(most)) return new Map(looks.map((look) => [look, most]));
  const each = Math.floor(most / Math.max(1, looks.length));
  const over = most - each * looks.length;
  return new Map(
    [...looks].sort((a, b) => oldestIn(a) - oldestIn(b)).map((look, i) => [look, each + (i < over ? 1 : 0)]),
  );
}

const oldestIn = ({ lapsed }: Look): number => lapsed[0]?.leaseUntil ?? Number.POSITIVE_INFINITY;
