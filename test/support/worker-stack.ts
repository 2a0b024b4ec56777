import { CreateQueueCommand, PurgeQueueCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { createJobsTable } from '../../lib/aws/dynamodb/create-jobs-table.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import { createPowertoolsTelemetry } from '../../lib/aws/telemetry.ts';
import type { Job } from '../../lib/protocol/job.ts';
import { sweep } from '../../lib/reaper/sweep.ts';
import { toEnvironment } from '../../lib/settings/environment.ts';
import { resolveSettings, type Settings } from '../../lib/settings/settings.ts';
import { createKeptTelemetry } from '../../lib/testing/kept-telemetry.ts';
import type { Resources } from '../../lib/wire/environment.ts';
import { jobBody, type SendOptions } from '../../lib/wire/message.ts';
import { type ComposedWorker, type ComposeOptions, composeWorker } from '../../lib/worker/compose-worker.ts';
import { noHeart } from '../../lib/worker/heart/no-heart.ts';
import { createRegistry, type Registry } from '../../lib/worker/registry.ts';
import { anyEngine, dynamoDbClient, sqsClient, sqsEndpoint, uniqueName } from './engines.ts';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';

// Loggers read it when they are made; a suite that looks at log lines sets its own.
process.env.POWERTOOLS_LOG_LEVEL ??= 'SILENT';

/** The engine itself: for workers that must be reached while this process's event loop stands still, proxies included. */
export const engineAddress = () => ({ endpoint: anyEngine().endpoint, region, credentials });

const credentials = { accessKeyId: 'local', secretAccessKey: 'local' };
const region = 'eu-west-1';

/** Leases short enough for a test, long enough for a busy two-core machine. */
const shortLeases = {
  timeScale: 100,
  leaseMs: 1500,
  skewMs: 100,
  dispatchLeaseMs: 3000,
  backoffBaseMs: 0,
  backoffCapMs: 0,
  eventsEnabled: false,
} as const;

/** A table and a queue of their own on real engines, behind proxies that count what goes over the wire. */
export interface WorkerStack {
  readonly settings: Settings;
  readonly tableName: string;
  readonly queueUrl: string;
  readonly dynamodb: FaultProxy;
  readonly sqs: FaultProxy;
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
  /** Reads the job until it is as wanted. */
  until(jobId: string, wanted: (job: Job | undefined) => boolean): Promise<Job>;
  purge(): Promise<void>;
  close(): Promise<void>;
}

export async function startWorkerStack(given: Readonly<Record<string, unknown>> = {}): Promise<WorkerStack> {
  const settings = resolveSettings({ ...shortLeases, ...given });
  const tableName = uniqueName('jobs');
  const [dynamodb, sqs] = await Promise.all([
    startFaultProxy({ target: anyEngine().endpoint }),
    startFaultProxy({ target: sqsEndpoint() }),
  ]);
  const creator = dynamoDbClient(anyEngine().endpoint);
  const queueClient = sqsClient(sqs.endpoint);
  await createJobsTable(creator, tableName);
  const created = await queueClient.send(
    new CreateQueueCommand({
      QueueName: uniqueName('queue'),
      Attributes: { VisibilityTimeout: String(Math.ceil(settings.visibilityTimeoutMs / 1000)) },
    }),
  );
  const queueUrl = created.QueueUrl ?? '';
  const resources: Resources = { tableName, queueUrl, serviceName: 'test', eventBusName: 'default' };
  const workers: ComposedWorker[] = [];
  const compose = (registry: Registry, overrides: Partial<ComposeOptions> = {}) => {
    const worker = composeWorker({
      registry,
      configuration: { resources, settings },
      dynamodb: { endpoint: dynamodb.endpoint, region, credentials },
      sqs: { endpoint: sqs.endpoint, region, credentials },
      ...overrides,
    });
    workers.push(worker);
    return worker;
  };
  // Looks on behalf of tests: past the proxy, so that looking is not counted.
  const observer = compose(createRegistry([]), {
    dynamodb: engineAddress(),
    sqs: { endpoint: sqsEndpoint(), region, credentials },
    heart: noHeart,
    telemetry: createPowertoolsTelemetry({ serviceName: 'observer' }),
  });
  const read = (jobId: string) => observer.store.read(jobId);
  const sweeps = createKeptTelemetry();
  const table = createDynamoDbTable({ client: creator, tableName });
  return {
    settings,
    tableName,
    queueUrl,
    dynamodb,
    sqs,
    sqsClient: queueClient,
    direct: observer,
    environment: {
      ...toEnvironment({
        resources: { ...resources, queueUrl: queueUrl.replace(sqs.endpoint, sqsEndpoint()) },
        settings,
      }),
      AWS_ENDPOINT_URL_DYNAMODB: anyEngine().endpoint,
      AWS_ENDPOINT_URL_SQS: sqsEndpoint(),
    },
    worker: compose,
    async send(type, payload, options) {
      const [sent] = await observer.queue.sendJobs([{ body: jobBody(type, payload, options) }]);
      if (sent?.outcome !== 'sent') throw new Error(`not sent: ${sent?.reason}`);
    },
    read,
    async sweep() {
      await sweep({ ...observer, table, telemetry: sweeps });
    },
    async until(jobId, wanted) {
      for (;;) {
        const job = await read(jobId);
        if (job !== undefined && wanted(job)) return job;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    },
    async purge() {
      await queueClient.send(new PurgeQueueCommand({ QueueUrl: queueUrl }));
    },
    async close() {
      await Promise.all(workers.map((worker) => worker.close()));
      creator.destroy();
      queueClient.destroy();
      await Promise.all([dynamodb.stop(), sqs.stop()]);
    },
  };
}
