import { lapsesAt } from '../protocol/decisions/decide-reap.ts';
import { createEventOutlet, type EventOutlet } from '../protocol/event-outlet.ts';
import { inParallel } from '../protocol/in-parallel.ts';
import type { LeaseEntry } from '../protocol/job.ts';
import { allShards } from '../protocol/shards.ts';
import { type LeasePage, readLeases } from '../protocol/store/lease-index.ts';
import type { ReaperDeps } from './deps.ts';
import { createReapWriter, REAP_CHUNK, type ReapWriter, type WriterContext } from './reap-writer.ts';
import { reportSweep } from './report.ts';
import { createSweepTally, leaveBehind, type SweepCounts } from './sweep-counts.ts';

export interface SweepOptions {
  /** The highest number of shards ever used, if above the setting. */
  readonly shards?: number;
  /** Whether to read pending jobs, too. @default true */
  readonly isWhole?: boolean;
  /** The previous sweep held lapsed leases back, so they are not late. @default false */
  readonly isCatchingUp?: boolean;
  /** @default - one that is settled at the end */
  readonly outlet?: EventOutlet;
  readonly shouldStop?: () => boolean;
}

export interface SweepResult extends SweepCounts {
  /** Every lapsed lease was read and, unless its row forbids it, written. */
  readonly complete: boolean;
  /** A read failed, or a write failed in a way that is worth a retry. */
  readonly inTrouble: boolean;
  readonly durationMs: number;
  readonly oldestLapsedMs: number;
  /** Of the running jobs read. */
  readonly nextLapseAt?: number;
  /** Leases of paused jobs end last, so the first page of a large shard may have none. */
  readonly mayHoldParked: boolean;
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
  readonly page: LeasePage;
  readonly lapsed: readonly LeaseEntry[];
  readonly live: LeaseEntry | undefined;
}

/** Handles all lapsed leases, running shards first; a fault in one row, batch or shard is left to a later sweep. */
export async function sweep(deps: ReaperDeps, options: SweepOptions = {}): Promise<SweepResult> {
  const { clock, settings } = deps;
  const { isWhole = true, isCatchingUp = false, shouldStop = () => false } = options;
  const outlet = options.outlet ?? createEventOutlet(deps);
  const tally = createSweepTally();
  const round: Round = { startedAt: clock.now(), tally, outlet, isCatchingUp, shouldStop };
  const began = clock.monotonic();
  const { running, pending } = allShards(Math.max(settings.shards, options.shards ?? 0));

  const { nextLapseAt } = await sweepShards(running, MOVED_PER_SWEEP, deps, round);
  const waiting = isWhole ? await sweepShards(pending, Number.POSITIVE_INFINITY, deps, round) : undefined;

  const seen = { nextLapseAt, mayHoldParked: waiting?.mayHoldParked === true };
  const result = { ...summarise(round, clock.monotonic() - began, clock.now()), ...seen };
  reportSweep(deps, result, tally);
  if (options.outlet === undefined) await outlet.settle();
  return result;
}

async function sweepShards(
  shards: readonly string[],
  most: number,
  deps: ReaperDeps,
  round: Round,
): Promise<Pick<SweepResult, 'nextLapseAt' | 'mayHoldParked'>> {
  const looks = await lookAt(shards, deps, round);
  const writer = createReapWriter(deps, round);
  const quotas = shareOut(
    most,
    looks.filter((look) => look.lapsed.length > 0 || mayHoldMore(look)),
  );
  // Shards without further pages must not wait behind a backlog.
  const inOrder = looks.sort((a, b) => Number(mayHoldMore(a)) - Number(mayHoldMore(b)));
  let nextLapseAt: number | undefined;
  await inParallel(inOrder, LARGE_READS_AT_ONCE, async (look) => {
    const live = await drainShard(look, quotas.get(look) ?? 0, writer, deps, round);
    if (live === undefined) return;
    const at = lapsesAt(live, deps.settings);
    nextLapseAt = Math.min(nextLapseAt ?? at, at);
  });
  await writer.finish();
  return { nextLapseAt, mayHoldParked: looks.some(({ page }) => mayHoldParked(page)) };
}

async function lookAt(shards: readonly string[], deps: ReaperDeps, round: Round): Promise<Look[]> {
  const looks: Look[] = [];
  await inParallel(shards, SHARDS_AT_ONCE, async (shard) => {
    if (round.shouldStop()) return;
    const page = await readPage(deps, round, { shard, limit: FIRST_PAGE });
    if (page !== undefined) looks.push({ shard, page, ...partitionLapsed(page, deps, round) });
  });
  return looks;
}

const mayHoldParked = ({ entries, cursor }: LeasePage) =>
  cursor !== undefined || entries.some((entry) => entry.status === 'pending' && entry.waitsFor !== undefined);

const mayHoldMore = ({ live, page }: Look) => live === undefined && page.cursor !== undefined;

/** Reads up to the first live lease, and returns it. */
async function drainShard(
  look: Look,
  quota: number,
  writer: ReapWriter,
  deps: ReaperDeps,
  round: Round,
): Promise<LeaseEntry | undefined> {
  let { page, lapsed, live } = look;
  let limit = FIRST_PAGE;
  let left = quota;
  for (;;) {
    await writer.add(lapsed.slice(0, left));
    if (lapsed.length > left) {
      leaveBehind(round.tally, 'overCap', lapsed.slice(left));
      return undefined;
    }
    left -= lapsed.length;
    if (live !== undefined || page.cursor === undefined) return live;
    const isSpent = left === 0 && lapsed.length > 0;
    if (isSpent || writer.hasStopped() || round.shouldStop()) {
      // Stands for the entries not read, which lapsed no earlier than the last one seen.
      leaveBehind(round.tally, isSpent ? 'overCap' : 'stopped', lapsed.slice(-1));
      return undefined;
    }
    limit = Math.min(limit * PAGE_GROWTH, REAP_CHUNK, Math.max(left, FIRST_PAGE));
    const next = await readPage(deps, round, { shard: look.shard, limit, cursor: page.cursor });
    if (next === undefined) return undefined;
    page = next;
    ({ lapsed, live } = partitionLapsed(page, deps, round));
  }
}

function partitionLapsed({ entries, bad }: LeasePage, deps: ReaperDeps, { startedAt, tally }: Round) {
  tally.scanned += entries.length + bad.length;
  tally.skipped.bad += bad.length;
  for (const each of bad)
    deps.telemetry.error('row cannot be read and is skipped', each, { jobId: each.jobId });
  const firstLive = entries.findIndex((entry) => lapsesAt(entry, deps.settings) > startedAt);
  const end = firstLive < 0 ? entries.length : firstLive;
  return { lapsed: entries.slice(0, end), live: entries[end] };
}

async function readPage(
  deps: ReaperDeps,
  { tally }: Round,
  request: Parameters<typeof readLeases>[1],
): Promise<LeasePage | undefined> {
  try {
    return await readLeases(deps.table, request);
  } catch (error) {
    tally.errors += 1;
    tally.firstError ??= error as Error;
    return undefined;
  }
}

function summarise(
  round: Round,
  durationMs: number,
  now: number,
): Omit<SweepResult, 'nextLapseAt' | 'mayHoldParked'> {
  const { firstError: _error, oldestLeft, toRetry, ...counts } = round.tally;
  const { skipped, errors } = counts;
  return {
    ...counts,
    inTrouble: errors + toRetry > 0,
    complete: errors + toRetry + skipped.overCap + skipped.stopped === 0 && !round.shouldStop(),
    durationMs,
    oldestLapsedMs: oldestLeft === undefined ? 0 : Math.max(0, now - oldestLeft),
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
