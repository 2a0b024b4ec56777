import { readFileSync } from 'node:fs';
import { makeWorkerUtils } from 'graphile-worker';
import type { Profile, StartSystem } from '../systems/system.ts';
import { poolOf } from './postgres-pool.ts';

const manyAtOnce = (concurrency: number) => ({
  localQueue: { size: concurrency * 2 },
  completeJobBatchDelay: 0,
});

/** How graphile-worker is set; shared with its process. */
export const workerOptions = (profile: Profile, concurrency: number) =>
  profile === 'default'
    ? {}
    : {
        pollInterval: 500,
        minResetLockedInterval: 1000,
        maxResetLockedInterval: 1000,
        ...(concurrency > 1 ? manyAtOnce(concurrency) : undefined),
      };

/** Its tables live in a schema of their own for each queue: its recovery works on all jobs of a schema. */
export const schemaOf = (queue: string) => `gw_${queue.replaceAll('-', '_')}`;

const LOCK_AGE_MS = 4 * 3600_000;
const manifest = JSON.parse(
  readFileSync(new URL('../node_modules/graphile-worker/package.json', import.meta.url), 'utf8'),
) as { version: string };

/** graphile-worker on PostgreSQL. */
export const start: StartSystem = async (stores) => {
  const postgres = await stores.postgres();
  if (typeof postgres !== 'string') return postgres;
  const pool = poolOf(postgres, 3);
  const jobs = (queue: string) => `"${schemaOf(queue)}"._private_jobs`;
  return {
    name: 'graphile-worker',
    title: 'graphile-worker',
    version: manifest.version,
    store: 'PostgreSQL',
    settings: {
      default: 'locks last 4 hours (a constant), looked for every 8 to 10 minutes, max_attempts 25',
      fast: 'locks last 4 hours (a constant), looked for every second; local queue of twice the concurrency, completions in batches',
    },
    program: new URL('./graphile-worker-process.ts', import.meta.url).pathname,
    stores: { postgres },
    leaseMs: { default: LOCK_AGE_MS, fast: LOCK_AGE_MS },
    renews: { default: false, fast: false },
    prepare: async (queue) => {
      const utils = await makeWorkerUtils({ pgPool: pool, schema: schemaOf(queue) });
      await utils.migrate();
      await utils.release();
    },
    enqueue: async (queue, given) => {
      for (let i = 0; i < given.length; i += 1000)
        await pool.query(
          `select count(*) from "${schemaOf(queue)}".add_jobs(array(
             select json_populate_record(null::"${schemaOf(queue)}".job_spec, value)
             from json_array_elements($1::json)))`,
          [
            JSON.stringify(
              given.slice(i, i + 1000).map((job) => ({ identifier: 'job', payload: job, job_key: job.id })),
            ),
          ],
        );
    },
    async state(queue, id) {
      const { rows } = await pool.query(
        `select locked_at, attempts, max_attempts from ${jobs(queue)} where key = $1`,
        [id],
      );
      const [row] = rows as { locked_at: Date | null; attempts: number; max_attempts: number }[];
      if (row === undefined) return { status: 'gone' };
      if (row.locked_at !== null) return { status: 'running' };
      return { status: row.attempts >= row.max_attempts ? 'failed' : 'waiting' };
    },
    waiting: async (queue) => {
      const { rows } = await pool.query(
        `select count(*)::int as n from ${jobs(queue)} where locked_at is null`,
      );
      return (rows as { n: number }[])[0]?.n ?? 0;
    },
    passTime: async (queue, _profile, ms) => {
      await pool.query(
        `update ${jobs(queue)} set locked_at = locked_at - interval '4 hours'
         where locked_at < now() - $1 * interval '1 ms' and locked_at > now() - interval '4 hours'`,
        [ms],
      );
    },
    discard: async (queue) => void (await pool.query(`drop schema "${schemaOf(queue)}" cascade`)),
    stop: () => pool.end(),
  };
};
