import type { Table, Telemetry } from '../protocol/ports.ts';
import { allShards } from '../protocol/shards.ts';
import { readLeases } from '../protocol/store/lease-index.ts';
import { type Pools, poolOf } from '../wire/pools.ts';

/** A tick reads up to about 30 read units a shard. */
const MOST_PER_SHARD = 1000;

export interface TasksWantedDeps {
  readonly table: Table;
  readonly shards: number;
  readonly pools: Pools;
  readonly telemetry: Telemetry;
  visibleIn(queueUrl: string): Promise<number>;
}

/** Counts waiting and running jobs. Queue length alone misleads: a process deletes messages when it claims. */
export async function publishTasksWanted(deps: TasksWantedDeps): Promise<void> {
  const { pools, telemetry, visibleIn } = deps;
  const scaled = Object.entries(pools).flatMap(([name, { queueUrl, tasks }]) =>
    tasks === undefined ? [] : [{ name, queueUrl, ...tasks }],
  );
  if (scaled.length === 0) return;
  try {
    const running = await countRunning(deps);
    await Promise.all(
      scaled.map(async ({ name, queueUrl, max, concurrency }) => {
        const jobs = (await visibleIn(queueUrl)) + (running.byPool.get(name) ?? 0);
        // The rest of a large shard may be this pool's.
        const least = running.isComplete ? 0 : 1;
        const tasks = Math.min(max, Math.max(least, Math.ceil(jobs / concurrency)));
        telemetry.gaugeOfPool?.('TasksWanted', name, tasks);
      }),
    );
  } catch (error) {
    // With missing data, pools keep their size.
    telemetry.error('pools keep their size: their jobs could not be counted', error);
  }
}

async function countRunning({ table, shards, pools }: TasksWantedDeps) {
  const byPool = new Map<string, number>();
  let isComplete = true;
  await Promise.all(
    allShards(shards).running.map(async (shard) => {
      const { entries, cursor } = await readLeases(table, { shard, limit: MOST_PER_SHARD });
      if (cursor !== undefined) isComplete = false;
      for (const { type } of entries) {
        const pool = poolOf(pools, type);
        byPool.set(pool, (byPool.get(pool) ?? 0) + 1);
      }
    }),
  );
  return { byPool, isComplete };
}
