import { describeQueue, isAbsentQueue } from '../aws/sqs/queue-inspection.ts';
import type { PoolSigns } from '../tools/inspect/intake-health.ts';
import { DEFAULT_POOL, poolOf } from '../wire/pools.ts';
import type { ClientParts } from './client-parts.ts';

type PoolParts = Pick<ClientParts, 'found' | 'sqs' | 'routing' | 'queueAge'>;

/** The default pool first. `runningTypes` has one type for each running job. */
export async function readPools(
  { found, sqs, routing, queueAge }: PoolParts,
  running: { readonly types: readonly string[]; readonly complete: boolean },
): Promise<readonly PoolSigns[] | undefined> {
  if (routing === undefined || found.queueUrl === undefined) return undefined;
  const { pools } = routing;
  const all = [{ name: DEFAULT_POOL, queueUrl: found.queueUrl, types: [] }, ...listed(pools)];
  return Promise.all(
    all.map(async ({ name, queueUrl, types, tasks }): Promise<PoolSigns> => {
      const count = running.types.filter((type) => poolOf(pools, type) === name).length;
      const pool = { name, queueUrl, types, tasks, running: { count, complete: running.complete } };
      try {
        const { visible, inFlight, delayed } = await describeQueue(sqs, queueUrl);
        const oldestMessageMs = visible === 0 ? undefined : await queueAge(queueUrl);
        return { ...pool, queue: { visible, inFlight, delayed }, oldestMessageMs };
      } catch (error) {
        if (!isAbsentQueue(error)) throw error;
        return { ...pool, isAbsent: true };
      }
    }),
  );
}

type Listed = Omit<PoolSigns, 'running' | 'queue'>;

const listed = (pools: NonNullable<ClientParts['routing']>['pools']): Listed[] =>
  Object.entries(pools).map(([name, pool]) => ({ name, ...pool }));
