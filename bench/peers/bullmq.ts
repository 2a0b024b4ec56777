import { Queue } from 'bullmq';
import manifest from 'bullmq/package.json' with { type: 'json' };
import type { BenchJob, Profile, StartSystem } from '../systems/system.ts';

/** How BullMQ's workers are set; shared with its process. */
export const workerOptions = (profile: Profile) =>
  profile === 'default' ? {} : { lockDuration: 10_000, stalledInterval: 1000 };

export const connectionOf = (url: string) => ({
  host: new URL(url).hostname,
  port: Number(new URL(url).port),
  maxRetriesPerRequest: null,
});

/** BullMQ on Redis. */
export const start: StartSystem = async (stores) => {
  const redis = await stores.redis();
  if (typeof redis !== 'string') return redis;
  const queues = new Map<string, Queue>();
  const queueOf = (name: string) => {
    const queue = queues.get(name) ?? new Queue(name, { connection: connectionOf(redis) });
    queues.set(name, queue);
    return queue;
  };
  return {
    name: 'bullmq',
    title: 'BullMQ',
    version: manifest.version,
    store: 'Redis',
    settings: {
      default: 'lockDuration 30 s, stalledInterval 30 s, maxStalledCount 1',
      fast: 'lockDuration 10 s, stalledInterval 1 s',
    },
    program: new URL('./bullmq-process.ts', import.meta.url).pathname,
    stores: { redis },
    leaseMs: { default: 30_000, fast: 10_000 },
    renews: { default: true, fast: true },
    prepare: async (queue) => void (await queueOf(queue).waitUntilReady()),
    enqueue: async (queue, jobs) => {
      for (let i = 0; i < jobs.length; i += 1000)
        await queueOf(queue).addBulk(
          jobs
            .slice(i, i + 1000)
            .map((job: BenchJob) => ({ name: 'job', data: job, opts: { jobId: job.id } })),
        );
    },
    async state(queue, id) {
      const job = await queueOf(queue).getJob(id);
      const status = await job?.getState();
      const resultBy = (job?.returnvalue as { by?: number } | null)?.by;
      const known = { completed: 'done', failed: 'failed', active: 'running' } as const;
      return {
        status: job === undefined ? 'gone' : (known[status as keyof typeof known] ?? 'waiting'),
        resultBy,
      };
    },
    waiting: (queue) => queueOf(queue).getWaitingCount(),
    async stop() {
      for (const queue of queues.values()) await queue.close();
    },
  };
};
