import { lapsesAt } from '../protocol/decisions/decide-reap.ts';
import type { LeaseEntry } from '../protocol/job.ts';
import type { ReaperDeps } from './deps.ts';
import { createTurns, LARGE_READS_AT_ONCE } from './large-reads.ts';
import { asSeen, type SweepMemory } from './sweep-memory.ts';

/** What one look at a running shard told. */
interface ShardLook {
  readonly shard: string;
  readonly lapsed: readonly LeaseEntry[];
  /** Undefined where the page did not reach the shard's end. */
  readonly liveCount: number | undefined;
}

interface Context {
  readonly now: number;
  readonly runningShards: readonly string[];
}

const COUNTED_PER_SHARD = 2500;
const LEAST_HOSTS = 2;

/**
 * Whether the leases of two hosts or more, and of more jobs than are still live, lapsed within one lease: then the store or
 * the network failed them, and no job did. What was seen to lapse before this sweep counts as well, because leases of one
 * event end one after the other. Costs nothing while a single host's leases lapse.
 */
export async function haveLapsedTogether(
  deps: Pick<ReaperDeps, 'table' | 'settings'>,
  memory: Pick<SweepMemory, 'lapses' | 'outlooks'>,
  looks: readonly ShardLook[],
  context: Context,
): Promise<boolean> {
  const lapsed = looks.flatMap((look) => look.lapsed);
  if (lapsed.length === 0) return false;
  for (const entry of lapsed)
    memory.lapses.set(asSeen(entry), {
      host: hostOf(entry.leaseOwner),
      until: lapsesAt(entry, deps.settings) + entry.leaseMs,
    });
  for (const [seen, { until }] of memory.lapses) if (until <= context.now) memory.lapses.delete(seen);
  const hosts = new Set([...memory.lapses.values()].map(({ host }) => host));
  if (hosts.size < LEAST_HOSTS) return false;
  return memory.lapses.size > (await countLive(deps, memory, looks, context));
}

async function countLive(
  { table, settings }: Pick<ReaperDeps, 'table' | 'settings'>,
  { outlooks }: Pick<SweepMemory, 'outlooks'>,
  looks: readonly ShardLook[],
  { now, runningShards }: Context,
): Promise<number> {
  const after = now - settings.skewMs - settings.graceMs;
  const known = new Map(looks.map(({ shard, liveCount }) => [shard, liveCount]));
  const inTurn = createTurns(LARGE_READS_AT_ONCE);
  const counts = await Promise.all(
    runningShards.map(async (partition) => {
      const told = known.has(partition) ? known.get(partition) : outlooks.get(partition)?.live;
      if (told !== undefined) return told;
      // What cannot be counted counts as live: a lapse is charged unless it is known to be excused.
      return inTurn(() => table.count({ partition, after, atMost: COUNTED_PER_SHARD })).then(
        ({ count }) => count,
        () => Number.POSITIVE_INFINITY,
      );
    }),
  );
  return counts.reduce((sum, each) => sum + each, 0);
}

/** The owner of a claim is its host's name and a part of its own. */
const hostOf = (owner = ''): string => owner.slice(0, Math.max(0, owner.lastIndexOf('/')));
