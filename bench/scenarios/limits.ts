import { setTimeout as sleep } from 'node:timers/promises';
import { GetQueueUrlCommand } from '@aws-sdk/client-sqs';
import { z } from 'zod/mini';
import { systemClock, systemRandom } from '../../lib/aws/clock.ts';
import { noEvents } from '../../lib/aws/eventbridge.ts';
import { createSqsClient } from '../../lib/aws/sqs/client.ts';
import { createSqsQueue } from '../../lib/aws/sqs/sqs-queue.ts';
import type { Telemetry } from '../../lib/protocol/ports.ts';
import { createEmbeddedReaper } from '../../lib/reaper/embedded.ts';
import type { Limit } from '../../lib/wire/limits.ts';
import { jobBody } from '../../lib/wire/message.ts';
import { composeWorker } from '../../lib/worker/compose-worker.ts';
import { defineJob } from '../../lib/worker/define-job.ts';
import { startWorkerProcess } from '../../lib/worker/hosts/process-host.ts';
import { createRegistry } from '../../lib/worker/registry.ts';
import { quantile } from '../support/statistics.ts';
import { local, settingsOf } from '../systems/leasehold-settings.ts';
import type { System } from '../systems/system.ts';
import { type Bench, freshQueue } from './scenario.ts';

/** A quiet tenant's wait next to a noisy one's backlog, by limit. */
interface NoisyTenant {
  readonly limit: string;
  readonly backlog: number;
  readonly medianMs: number;
  readonly p95Ms: number;
  readonly started: number;
  readonly of: number;
}

/** Jobs that one limit lets through. */
interface LimitRate {
  readonly limit: number;
  readonly jobMs: number;
  readonly backlog: number;
  readonly jobsPerSecond: number;
  /** If each place were taken again at once. */
  readonly idealPerSecond: number | undefined;
  readonly mostAtOnce: number;
}

export interface Limits {
  readonly noisyTenant: readonly NoisyTenant[];
  readonly rates: readonly LimitRate[];
}

const CONCURRENCY = 50;
const NOISY_MS = 50;
const QUIET_JOBS = 50;
const QUIET_EVERY_MS = 200;
/** The last one gets this long to start. */
const LAST_MS = 10_000;
const RATE_MS = 20_000;

export async function limits(bench: Bench, system: System): Promise<Limits> {
  const backlog = bench.quick ? 500 : 10_000;
  const noisyTenant: NoisyTenant[] = [];
  for (const limit of [undefined, { perKey: 10 }]) {
    noisyTenant.push(await besideNoise(system, limit, backlog));
    bench.say(`limits: ${JSON.stringify(noisyTenant.at(-1))}`);
  }
  const rates: LimitRate[] = [];
  for (const [limit, jobMs] of [
    [1, 0],
    [16, 50],
  ] as const) {
    rates.push(await rateOf(system, { limit, jobMs, backlog }));
    bench.say(`limits: ${JSON.stringify(rates.at(-1))}`);
  }
  return { noisyTenant, rates };
}

async function besideNoise(system: System, limit: Limit | undefined, backlog: number): Promise<NoisyTenant> {
  const worker = await startWorker(system, limit);
  await worker.send(
    Array.from({ length: backlog }, (_, n) => `noisy-${n}`),
    NOISY_MS,
    'noisy',
  );
  worker.start();
  const sent = new Map<string, number>();
  for (let n = 0; n < QUIET_JOBS; n += 1) {
    const jobId = `quiet-${n}`;
    sent.set(jobId, Date.now());
    await worker.send([jobId], 0, 'quiet');
    await sleep(QUIET_EVERY_MS);
  }
  await sleep(LAST_MS);
  const waits = [...sent]
    .flatMap(([jobId, at]) => {
      const start = worker.starts.get(jobId);
      return start === undefined ? [] : [start - at];
    })
    .sort((a, b) => a - b);
  await worker.stop();
  return {
    limit: limit === undefined ? 'none' : JSON.stringify(limit),
    backlog,
    ...{ started: waits.length, of: sent.size },
    ...{ medianMs: quantile(waits, 0.5), p95Ms: quantile(waits, 0.95) },
  };
}

async function rateOf(
  system: System,
  { limit, jobMs, backlog }: { readonly limit: number; readonly jobMs: number; readonly backlog: number },
): Promise<LimitRate> {
  const worker = await startWorker(system, limit);
  await worker.send(
    Array.from({ length: backlog }, (_, n) => `job-${n}`),
    jobMs,
  );
  worker.start();
  while (worker.starts.size === 0) await sleep(10);
  const from = Date.now();
  while (Date.now() - from < RATE_MS && worker.done() < backlog) await sleep(10);
  const jobsPerSecond = (1000 * worker.done()) / (Date.now() - from);
  const mostAtOnce = worker.mostAtOnce();
  await worker.stop();
  const idealPerSecond = jobMs === 0 ? undefined : (1000 * limit) / jobMs;
  return { limit, jobMs, backlog, jobsPerSecond, idealPerSecond, mostAtOnce };
}

/** One worker in this process, whose handlers only wait: what is measured is how they are let through. */
async function startWorker(system: System, limit: Limit | undefined) {
  const name = await freshQueue(system, 'default');
  const starts = new Map<string, number>();
  let [running, most, done] = [0, 0, 0];
  const work = defineJob({
    type: 'bench',
    limit,
    payload: z.object({ ms: z.number() }),
    async run({ jobId, payload }) {
      if (!starts.has(jobId)) starts.set(jobId, Date.now());
      running += 1;
      most = Math.max(most, running);
      if (payload.ms > 0) await sleep(payload.ms);
      running -= 1;
      done += 1;
    },
  });
  const settings = settingsOf('default', { processConcurrency: CONCURRENCY, isolation: 'none' });
  const { dynamodb = '', sqs = '' } = system.stores;
  const client = createSqsClient(local(sqs));
  const queueUrl = (await client.send(new GetQueueUrlCommand({ QueueName: name }))).QueueUrl ?? '';
  const queue = createSqsQueue({ client, queueUrl, clock: systemClock });
  const composed = composeWorker({
    handlers: { registry: createRegistry([work]) },
    configuration: {
      settings,
      resources: { tableName: name, queueUrl, serviceName: 'bench', eventBusName: 'default' },
    },
    concurrency: CONCURRENCY,
    dynamodb: local(dynamodb),
    sqs: local(sqs),
  });
  const parts = { ...composed, telemetry: silent, events: noEvents };
  let host: ReturnType<typeof startWorkerProcess> | undefined;
  return {
    starts,
    done: () => done,
    mostAtOnce: () => most,
    async send(jobIds: readonly string[], ms: number, key?: string) {
      const sent = await queue.sendJobs(
        jobIds.map((jobId) => ({ body: jobBody('bench', { ms }, { jobId, key }) })),
      );
      if (sent.some(({ outcome }) => outcome === 'failed')) throw new Error('not all jobs were sent');
    },
    start() {
      const reaper = createEmbeddedReaper({ ...parts, random: systemRandom, name });
      host = startWorkerProcess({ parts, reaper });
    },
    async stop() {
      await host?.stop();
      await composed.close();
      client.destroy();
      await system.discard?.(name);
    },
  };
}

const silent: Telemetry & { flush(): void } = {
  info() {},
  warn() {},
  error() {},
  count() {},
  gauge() {},
  flush() {},
};
