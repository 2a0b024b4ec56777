import { celeryRecovery } from '../peers/celery.ts';
import type { Spread } from '../support/statistics.ts';
import type { Bench } from './scenario.ts';

/** Time from the SIGKILL of a Celery task's process to the task's next start, in ms: the best of the others, on BullMQ's Redis. */
export async function killedCelery(bench: Bench): Promise<Spread | undefined> {
  const redis = bench.systems.find(({ name }) => name === 'bullmq')?.stores.redis;
  const measured =
    redis === undefined
      ? { skipped: 'it needs the Redis that is started for BullMQ' }
      : await celeryRecovery(redis, bench.trials ?? (bench.quick ? 3 : 5));
  if (measured === undefined || !('skipped' in measured)) return measured;
  bench.say(`killed cell, Celery: skipped, ${measured.skipped}`);
  return undefined;
}
