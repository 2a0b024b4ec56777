import { allShards } from '../protocol/shards.ts';
import type { ReaperDeps } from './deps.ts';
import { createTurns, LARGE_READS_AT_ONCE } from './large-reads.ts';
import type { SweepMemory } from './sweep-memory.ts';

/** Counted at most, per shard: one request and about 33 read units. The gauge then says "at least". */
const LIVE_COUNTED_PER_SHARD = 1000;
/** So often at most: counting costs by the number of running jobs. */
export const GAUGE_EVERY_MS = 5 * 60_000;

/** Reports `LeasesLive`. Shards whose first page told everything cost nothing. */
export async function gaugeLiveLeases(deps: ReaperDeps, memory: SweepMemory, shards: number): Promise<void> {
  const { clock, table, telemetry, settings } = deps;
  const after = clock.now() - settings.skewMs - settings.graceMs;
  const inTurn = createTurns(LARGE_READS_AT_ONCE);
  try {
    const counts = await Promise.all(
      allShards(shards).running.map(async (partition) => {
        const known = memory.outlooks.get(partition)?.live;
        if (known !== undefined) return known;
        const count = () => table.count({ partition, after, atMost: LIVE_COUNTED_PER_SHARD });
        return (await inTurn(count)).count;
      }),
    );
    const live = counts.reduce((sum, each) => sum + each, 0);
    if (live > 0) telemetry.gauge('LeasesLive', live);
  } catch (error) {
    telemetry.warn('live leases could not be counted', {
      reason: error instanceof Error ? error.message : String(error),
    });
  }
}
