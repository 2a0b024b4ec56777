import { inParallel } from '../protocol/in-parallel.ts';
import { allShards } from '../protocol/shards.ts';
import type { ReaperRow } from '../protocol/store/reaper-row.ts';
import type { ReaperDeps } from './deps.ts';
import { LARGE_READS_AT_ONCE } from './sweep.ts';

/** One request and about 33 read units per shard; above it the gauge is a lower bound. */
const LIVE_COUNTED_PER_SHARD = 1000;
/** The cost of counting rises with the number of running jobs. */
const GAUGE_EVERY_MS = 5 * 60_000;

/** Returns when `LeasesLive` was last reported. */
export async function gaugeLiveLeases(
  { clock, table, telemetry, settings }: ReaperDeps,
  { gaugedAt, shards }: ReaperRow,
): Promise<number> {
  const now = clock.now();
  if (now - gaugedAt < GAUGE_EVERY_MS && gaugedAt <= now) return gaugedAt;
  const after = now - settings.skewMs;
  let live = 0;
  try {
    await inParallel(allShards(shards).running, LARGE_READS_AT_ONCE, async (partition) => {
      const { count } = await table.count({ partition, after, atMost: LIVE_COUNTED_PER_SHARD });
      live += count;
    });
    if (live > 0) telemetry.gauge('LeasesLive', live);
  } catch (error) {
    telemetry.warn('live leases could not be counted', {
      reason: error instanceof Error ? error.message : String(error),
    });
  }
  return now;
}
