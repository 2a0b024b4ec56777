import type { Settings } from '../settings/settings.ts';
import type { ReaperDeps } from './deps.ts';
import { createTurns, LARGE_READS_AT_ONCE } from './large-reads.ts';

/**
 * When most running leases lapse at once, the workers are hardly to blame: a deployment went wrong, or the network did.
 * The breaker then turns the reaper into a rate limit and spares the jobs' crash budgets. It never stops the reaper.
 */
export interface BreakerState {
  open: boolean;
  /** The last sweep left lapsed rows behind for the sake of the rate. */
  heldBack: boolean;
}

/** What the first page of one running shard told. */
export interface FirstLook {
  readonly shard: string;
  readonly lapsed: number;
  /** The page was full of lapsed leases: there may be more. */
  readonly mayHoldMore: boolean;
  /** Undefined where the page did not reach the shard's end. */
  readonly live: number | undefined;
}

export interface BreakerVerdict {
  readonly open: boolean;
  readonly change?: 'opened' | 'closed';
  readonly lapsed: number;
  readonly live: number;
  /** Running rows that this sweep may move. */
  readonly budget: number;
}

/** Entries of one shard that are counted at most: one request, and about 80 read units. */
const COUNTED_PER_SHARD = 2500;
/** Never fewer rows a sweep than one write request holds. */
const SMALLEST_BUDGET = 25;

/** Whether so many lapsed leases beside so many live ones are one event rather than many. @internal */
export const isMassLapse = (
  counted: { readonly lapsed: number; readonly live: number; readonly tooManyToCount?: boolean },
  settings: Pick<Settings, 'breakerThreshold' | 'breakerShare'>,
): boolean =>
  counted.lapsed >= settings.breakerThreshold &&
  (counted.tooManyToCount === true ||
    counted.lapsed > settings.breakerShare * (counted.lapsed + counted.live));

/**
 * Decides before the first write of a sweep, and updates the state. Costs nothing while few leases have lapsed: counting
 * starts when the first pages reach the threshold or hide how many there are. An open breaker stays open for the rows that
 * it held back itself: they lapsed in the same event.
 */
export async function assessBreaker(
  deps: Pick<ReaperDeps, 'table' | 'settings'>,
  state: BreakerState,
  looks: readonly FirstLook[],
  context: { readonly now: number; readonly runningShards: readonly string[] },
): Promise<BreakerVerdict> {
  const { settings } = deps;
  const was = state.open;
  const seen = looks.reduce((sum, look) => sum + look.lapsed, 0);
  let counted = { lapsed: seen, live: 0, tooManyToCount: false };
  if (!(was && state.heldBack)) {
    const full = looks.some((look) => look.mayHoldMore);
    if (full || seen >= settings.breakerThreshold) counted = await countLeases(deps, looks, context);
    state.open = isMassLapse(counted, settings);
  }
  return {
    open: state.open,
    change: state.open === was ? undefined : state.open ? 'opened' : 'closed',
    lapsed: counted.lapsed,
    live: counted.live,
    budget: state.open ? Math.max(SMALLEST_BUDGET, settings.breakerPerSweep) : Number.POSITIVE_INFINITY,
  };
}

async function countLeases(
  { table, settings }: Pick<ReaperDeps, 'table' | 'settings'>,
  looks: readonly FirstLook[],
  { now, runningShards }: { readonly now: number; readonly runningShards: readonly string[] },
) {
  const lapsedUpTo = now - settings.skewMs - settings.graceMs;
  // What cannot be counted counts as nothing: too few live leases open the breaker, which is the safe side.
  const inTurn = createTurns(LARGE_READS_AT_ONCE);
  const count = (partition: string, range: { readonly after?: number; readonly upTo?: number }) =>
    inTurn(() => table.count({ partition, ...range, atMost: COUNTED_PER_SHARD })).catch(() => ({
      count: 0,
      complete: true,
    }));
  const lapsed = await Promise.all(
    looks.map(async (look) => {
      if (!look.mayHoldMore) return { count: look.lapsed, complete: true };
      const { count: all, complete } = await count(look.shard, { upTo: lapsedUpTo });
      return { count: Math.max(all, look.lapsed), complete };
    }),
  );
  const total = lapsed.reduce((sum, each) => sum + each.count, 0);
  const tooManyToCount = lapsed.some((each) => !each.complete);
  if (total < settings.breakerThreshold) return { lapsed: total, live: 0, tooManyToCount };
  const known = new Map(looks.map((look) => [look.shard, look.live]));
  const live = await Promise.all(
    runningShards.map(async (shard) => known.get(shard) ?? (await count(shard, { after: lapsedUpTo })).count),
  );
  return { lapsed: total, live: live.reduce((sum, each) => sum + each, 0), tooManyToCount };
}

/** Shares a budget out among shards: evenly, and what is over to those whose lease lapsed longest ago. */
export function shareOut<T extends { readonly oldest: number }>(
  budget: number,
  shards: readonly T[],
): Map<T, number> {
  if (!Number.isFinite(budget)) return new Map(shards.map((shard) => [shard, budget]));
  const each = Math.floor(budget / Math.max(1, shards.length));
  const over = budget - each * shards.length;
  return new Map(
    [...shards].sort((a, b) => a.oldest - b.oldest).map((shard, i) => [shard, each + (i < over ? 1 : 0)]),
  );
}
