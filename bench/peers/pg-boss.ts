import { readFileSync } from 'node:fs';
import { PgBoss } from 'pg-boss';
import type { JobState, Profile, StartSystem } from '../systems/system.ts';
import { poolOf } from './postgres-pool.ts';

const FAST = { superviseIntervalSeconds: 1, monitorIntervalSeconds: 1 };

/** How pg-boss is set; shared with its process. */
export const bossOptions = (url: string, profile: Profile) => ({
  connectionString: url,
  ...(profile === 'default' ? undefined : FAST),
});
export const queueOptions = (profile: Profile) => (profile === 'default' ? {} : { heartbeatSeconds: 10 });
/** Its polling caps throughput, so `fast` takes batches and goes on at once after a full one. */
export const workOptions = (profile: Profile, concurrency: number) => {
  if (profile === 'default') return { localConcurrency: concurrency };
  const batchSize = Math.min(concurrency, 10);
  return {
    batchSize,
    localConcurrency: Math.ceil(concurrency / batchSize),
    pollingIntervalSeconds: 0.5,
    burstWhenBatchFull: true,
    burstWhenReadyExceeds: 1,
  };
};

const EXPIRE_SECONDS = 900;
const manifest = JSON.parse(
  readFileSync(new URL('../node_modules/pg-boss/package.json', import.meta.url), 'utf8'),
) as { version: string };
const STATUS: Readonly<Record<string, JobState['status']>> = {
  created: 'waiting',
  retry: 'waiting',
  active: 'running',
  completed: 'done',
  failed: 'failed',
};

/** pg-boss on PostgreSQL. */
export const start: StartSystem = async (stores) => {
  const postgres = await stores.postgres();
  if (typeof postgres !== 'string') return postgres;
  const boss = new PgBoss({ connectionString: postgres, supervise: false, schedule: false });
  boss.on('error', () => {});
  await boss.start();
  const pool = poolOf(postgres, 2);
  return {
    name: 'pg-boss',
    title: 'pg-boss',
    version: manifest.version,
    store: 'PostgreSQL',
    settings: {
      default: 'expireInSeconds 900, no heartbeat, supervise and monitor every 60 s, retryLimit 2',
      fast: 'heartbeatSeconds 10 (its minimum), supervise and monitor every second, polling every 0.5 s in batches of up to 10, at once after a full batch',
    },
    program: new URL('./pg-boss-process.ts', import.meta.url).pathname,
    stores: { postgres },
    leaseMs: { default: EXPIRE_SECONDS * 1000, fast: 10_000 },
    renews: { default: false, fast: true },
    prepare: (queue, profile) => boss.createQueue(queue, queueOptions(profile)),
    enqueue: async (queue, jobs) => {
      for (let i = 0; i < jobs.length; i += 1000)
        await boss.insert(
          queue,
          jobs.slice(i, i + 1000).map((job) => ({ id: job.id, data: job })),
        );
      // As autovacuum does a little later: with the statistics of an empty table it takes minutes to fetch thousands.
      if (jobs.length >= 1000) await pool.query('analyze pgboss.job');
    },
    async state(queue, id) {
      const { rows } = await pool.query('select state, output from pgboss.job where name = $1 and id = $2', [
        queue,
        id,
      ]);
      const [row] = rows as { state: string; output: { by?: number } | null }[];
      const by = row?.output?.by;
      return { status: STATUS[row?.state ?? ''] ?? 'gone', resultBy: by };
    },
    waiting: async (queue) => {
      const { rows } = await pool.query(
        `select count(*)::int as n from pgboss.job where name = $1 and state in ('created', 'retry')`,
        [queue],
      );
      return (rows as { n: number }[])[0]?.n ?? 0;
    },
    passTime: async (queue, profile, ms) => {
      if (profile === 'fast') return;
      await pool.query(
        `update pgboss.job set started_on = started_on - interval '${EXPIRE_SECONDS} seconds'
         where name = $1 and state = 'active' and started_on < now() - $2 * interval '1 ms'
           and started_on > now() - interval '${EXPIRE_SECONDS} seconds'`,
        [queue, ms],
      );
    },
    async stop() {
      await boss.stop({ graceful: false });
      await pool.end();
    },
  };
};
