import { inParallel } from '../protocol/in-parallel.ts';
import { parseControl } from '../protocol/limits/control.ts';
import { allShards } from '../protocol/shards.ts';
import { readLeases } from '../protocol/store/lease-index.ts';
import { CONTROL_KEY } from '../wire/limits.ts';
import type { ReaperDeps } from './deps.ts';
import { LARGE_READS_AT_ONCE } from './sweep.ts';

/** One request and about 40 read units per shard; above it the counts are lower bounds. */
const WAITING_COUNTED_PER_SHARD = 1000;
const GAUGE_EVERY_MS = 5 * 60_000;

/** The first whole sweep of each period, so that CloudWatch has one value for each. */
export const isNewPeriod = (wholeAt: number, now: number): boolean =>
  Math.floor(wholeAt / GAUGE_EVERY_MS) !== Math.floor(now / GAUGE_EVERY_MS);

/** By type, because CloudWatch bills each metric, and there may be many keys. */
export async function gaugeWaiting(deps: ReaperDeps, shards: number): Promise<void> {
  const { table, telemetry, clock } = deps;
  try {
    const { paused, types } = parseControl(await table.read(CONTROL_KEY));
    if (paused.size > 0) telemetry.gauge('TypesPaused', paused.size);
    const hasLimits = [...types.values()].some((limit) => limit !== undefined);
    if (!hasLimits && paused.size === 0) return;
    const now = clock.now();
    for (const [type, { count, dueAt }] of await countWaiting(deps, shards)) {
      telemetry.gaugeOfType?.('JobsWaiting', type, count);
      telemetry.gaugeOfType?.('OldestWait', type, Math.max(0, now - dueAt));
    }
  } catch (error) {
    telemetry.warn('waiting jobs could not be counted', {
      reason: error instanceof Error ? error.message : String(error),
    });
  }
}

async function countWaiting({ table }: ReaperDeps, shards: number) {
  const byType = new Map<string, { count: number; dueAt: number }>();
  await inParallel(allShards(shards).pending, LARGE_READS_AT_ONCE, async (shard) => {
    const { entries } = await readLeases(table, { shard, limit: WAITING_COUNTED_PER_SHARD });
    for (const entry of entries) {
      if (entry.status !== 'pending' || entry.waitsFor === undefined) continue;
      const { count, dueAt } = byType.get(entry.type) ?? { count: 0, dueAt: entry.notBefore };
      byType.set(entry.type, { count: count + 1, dueAt: Math.min(dueAt, entry.notBefore) });
    }
  });
  return byType;
}
