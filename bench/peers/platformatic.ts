import { readFileSync } from 'node:fs';
import { Queue, RedisStorage } from '@platformatic/job-queue';
import type { BenchJob, JobState, Profile, StartSystem } from '../systems/system.ts';

/** The lease of a job, which nothing renews; shared with its process. */
export const visibilityTimeout = (profile: Profile) => (profile === 'default' ? 30_000 : 10_000);

export const storageOf = (url: string, queue: string) => new RedisStorage({ url, keyPrefix: `${queue}:` });

const manifest = JSON.parse(
  readFileSync(new URL('../node_modules/@platformatic/job-queue/package.json', import.meta.url), 'utf8'),
) as { version: string };

const STATUS: Readonly<Record<string, JobState['status']>> = {
  queued: 'waiting',
  failing: 'waiting',
  processing: 'running',
  completed: 'done',
  failed: 'failed',
};

/** @platformatic/job-queue on Redis. */
export const start: StartSystem = async (stores) => {
  const redis = await stores.redis();
  if (typeof redis !== 'string') return redis;
  const queues = new Map<
    string,
    Promise<{ queue: Queue<BenchJob, { by: number }>; storage: RedisStorage }>
  >();
  const open = async (name: string) => {
    const storage = storageOf(redis, name);
    const queue = new Queue<BenchJob, { by: number }>({ storage });
    await queue.start();
    return { queue, storage };
  };
  const queueOf = (name: string) => {
    const queue = queues.get(name) ?? open(name);
    queues.set(name, queue);
    return queue;
  };
  return {
    name: 'platformatic',
    title: '@platformatic/job-queue',
    version: manifest.version,
    store: 'Redis',
    settings: {
      default: 'visibilityTimeout 30 s, never renewed; one Reaper beside each worker, leader election off',
      fast: 'visibilityTimeout 10 s (safe only for jobs shorter than that)',
    },
    program: new URL('./platformatic-process.ts', import.meta.url).pathname,
    stores: { redis },
    leaseMs: { default: 30_000, fast: 10_000 },
    renews: { default: false, fast: false },
    prepare: async (queue) => void (await queueOf(queue)),
    enqueue: async (name, jobs) => {
      const { queue } = await queueOf(name);
      for (let i = 0; i < jobs.length; i += 500)
        await Promise.all(jobs.slice(i, i + 500).map((job) => queue.enqueue(job.id, job)));
    },
    async state(name, id) {
      const status = await (await queueOf(name)).queue.getStatus(id);
      const by = status?.result?.by;
      return { status: STATUS[status?.state ?? ''] ?? 'gone', resultBy: by };
    },
    waiting: async (name) => {
      // The queue's length has no verb of its own in the library.
      const { Redis } = await import('ioredis');
      const client = new Redis(redis);
      const length = await client.llen(`${name}:queue`);
      client.disconnect();
      return length;
    },
    async stop() {
      for (const each of queues.values()) await (await each).queue.stop();
    },
  };
};
