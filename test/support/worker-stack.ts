import { setTimeout as sleep } from 'node:timers/promises';
import { PurgeQueueCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { createPowertoolsTelemetry } from '../../lib/aws/telemetry.ts';
import type { Job } from '../../lib/protocol/job.ts';
import { sweep } from '../../lib/reaper/sweep.ts';
import { toEnvironment } from '../../lib/settings/environment.ts';
import { resolveSettings, type Settings } from '../../lib/settings/settings.ts';
import { createKeptTelemetry } from '../../lib/testing/kept-telemetry.ts';
import { type Resources, SHORT_TIMES_VARIABLE } from '../../lib/wire/environment.ts';
import { jobBody, type SendOptions } from '../../lib/wire/message.ts';
import { visibilityTimeoutMs } from '../../lib/wire/queues.ts';
import { type ComposedWorker, type ComposeOptions, composeWorker } from '../../lib/worker/compose-worker.ts';
import { createRegistry, type Registry } from '../../lib/worker/registry.ts';
import { anyEngine, local, patient, type SharedDynamoDb, sqsEndpoint } from './engines.ts';
import { openStage, type Stage } from './stage.ts';

// Loggers read it when they are made; a suite that looks at log lines sets its own.
process.env.POWERTOOLS_LOG_LEVEL ??= 'SILENT';

/** Leases short enough for a test, long enough for a busy two-core machine. */
const shortLeases = {
  leaseMs: 1500,
  skewMs: 100,
  dispatchLeaseMs: 3000,
  // A stop waits for the last poll, which is as long as half of it.
  shutdownGraceMs: 100,
  backoffBaseMs: 0,
  backoffCapMs: 0,
  eventsEnabled: false,
  // A sweep asks each shard twice, and tests sweep often.
  shards: 2,
  maxRunning: 100,
} as const;

/** How often a job is looked at that a test waits for, and how often all of them together: more would keep workers in this process from working. */
const LOOK_MS = 50;
const LOOKS_A_SECOND = 100;

/** How often a job's lease lapsed. Its `crashes` do not tell: progress forgives them. */
export const lapsesOf = (job: Job | undefined): number =>
  job?.claims.filter(({ outcome }) => outcome === 'lapsed').length ?? 0;

/** A stage for workers, with short ways to send jobs and to see what becomes of them. */
export interface WorkerStack extends Omit<Stage, 'direct'> {
  readonly settings: Settings;
  /** Past the proxy. */
  readonly sqsClient: SQSClient;
  /** The stack's store and queue, past the proxies. */
  readonly direct: ComposedWorker;
  /** The variables with which a child process finds this stack, past the proxies. */
  readonly environment: Readonly<Record<string, string>>;
  /** A worker on this stack; closed with it. */
  worker(registry: Registry, overrides?: Partial<ComposeOptions>): ComposedWorker;
  send(type: string, payload: unknown, options?: SendOptions): Promise<void>;
  read(jobId: string): Promise<Job | undefined>;
  /** One sweep of the reaper, past the proxies. */
  sweep(): Promise<void>;
  /** Sweeps again and again until it is stopped. */
  sweepOften(): () => Promise<void>;
  /** Reads the job until it is as wanted. */
  until(jobId: string, wanted: (job: Job | undefined) => boolean): Promise<Job>;
  /** Waits until the job runs, and lets its lease end at once: for jobs whose worker is dead or stopped. */
  lapse(jobId: string): Promise<void>;
  purge(): Promise<void>;
}

export async function startWorkerStack(
  given: Readonly<Record<string, unknown>> = {},
  engine: Pick<SharedDynamoDb, 'endpoint'> = anyEngine(),
): Promise<WorkerStack> {
  const settings = resolveSettings({ ...shortLeases, ...given }, { allowShortTimes: true });
  const { direct, ...stage } = await openStage({
    engine,
    queueAttributes: { VisibilityTimeout: String(Math.ceil(visibilityTimeoutMs(settings) / 1000)) },
  });
  const { tableName, queueUrl, dynamodb, sqs } = stage;
  const resources: Resources = { tableName, queueUrl, serviceName: 'test', eventBusName: 'default' };
  const workers: ComposedWorker[] = [];
  const compose = (registry: Registry, overrides: Partial<ComposeOptions> = {}) => {
    const worker = composeWorker({
      handlers: { registry },
      configuration: { resources, settings },
      dynamodb: { ...local, endpoint: dynamodb.endpoint },
      sqs: { ...local, endpoint: sqs.endpoint },
      ...overrides,
    });
    workers.push(worker);
    return worker;
  };
  // Looks on behalf of tests: past the proxy, so that looking is not counted.
  const observer = compose(createRegistry([]), {
    dynamodb: { ...patient, endpoint: engine.endpoint },
    sqs: { ...local, endpoint: sqsEndpoint() },
    telemetry: createPowertoolsTelemetry({ serviceName: 'observer' }),
  });
  const read = (jobId: string) => observer.store.read(jobId);
  const sweeps = createKeptTelemetry();
  const table = direct.jobs.at();
  const sweepOnce = async () => void (await sweep({ ...observer, table, telemetry: sweeps }));
  let waiting = 0;
  const until: WorkerStack['until'] = async (jobId, wanted) => {
    waiting += 1;
    try {
      for (;;) {
        const job = await read(jobId);
        if (job !== undefined && wanted(job)) return job;
        await sleep(Math.max(LOOK_MS, (waiting * 1000) / LOOKS_A_SECOND));
      }
    } finally {
      waiting -= 1;
    }
  };
  return {
    ...stage,
    settings,
    sqsClient: direct.sqs,
    direct: observer,
    environment: {
      ...toEnvironment({ resources: { ...resources, queueUrl: direct.queueUrl }, settings }),
      [SHORT_TIMES_VARIABLE]: 'true',
      AWS_ENDPOINT_URL_DYNAMODB: engine.endpoint,
      AWS_ENDPOINT_URL_SQS: sqsEndpoint(),
    },
    worker: compose,
    async send(type, payload, options) {
      const [sent] = await observer.queue.sendJobs([{ body: jobBody(type, payload, options) }]);
      if (sent?.outcome !== 'sent') throw new Error(`not sent: ${sent?.reason}`);
    },
    read,
    sweep: sweepOnce,
    sweepOften() {
      let isStopped = false;
      const sweeping = (async () => {
        while (!isStopped) {
          await sweepOnce();
          await sleep(250);
        }
      })();
      return () => {
        isStopped = true;
        return sweeping;
      };
    },
    until,
    async lapse(jobId) {
      for (;;) {
        await until(jobId, (job) => job?.status === 'running');
        await direct.jobs.lapse(jobId);
        // A last heartbeat may have been under way.
        await sleep(100);
        const job = await read(jobId);
        if (job?.status !== 'running' || job.leaseUntil < Date.now()) return;
      }
    },
    async purge() {
      await direct.sqs.send(new PurgeQueueCommand({ QueueUrl: direct.queueUrl }));
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.close()));
      await stage.close();
    },
  };
}
