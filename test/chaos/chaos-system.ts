import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateQueueCommand, PurgeQueueCommand } from '@aws-sdk/client-sqs';
import { systemClock as clock, systemRandom } from '../../lib/aws/clock.ts';
import { createDynamoDbClient } from '../../lib/aws/dynamodb/client.ts';
import { createJobsTable } from '../../lib/aws/dynamodb/create-jobs-table.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import { createTableInspection } from '../../lib/aws/dynamodb/table-inspection.ts';
import { createSqsClient } from '../../lib/aws/sqs/client.ts';
import { createSqsQueue } from '../../lib/aws/sqs/sqs-queue.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import type { Row } from '../../lib/protocol/writes/row-write.ts';
import { toEnvironment } from '../../lib/settings/environment.ts';
import { resolveSettings, type Settings } from '../../lib/settings/settings.ts';
import { startDynamoDb } from '../../lib/tools/dev/engines/dynamodb-engine.ts';
import { startSqs } from '../../lib/tools/dev/engines/sqs-engine.ts';
import { SHORT_TIMES_VARIABLE } from '../../lib/wire/environment.ts';
import { visibilityTimeoutMs } from '../../lib/wire/queues.ts';
import { JOURNAL_FILE } from '../support/journal.ts';

const local = {
  region: 'eu-west-1',
  credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
} as const;

/** A tenth of the usual times and less, so that a minute of chaos holds many leases. */
const chaosSettings = resolveSettings(
  {
    ...{ leaseMs: 3000, skewMs: 300, dispatchLeaseMs: 1500, dispatchLeaseCapMs: 6000 },
    ...{ maxAttempts: 12, maxCrashes: 10, maxLapses: 12, backoffBaseMs: 100, backoffCapMs: 1000 },
    ...{ functionTimeoutMs: 2500, deadlineMarginMs: 200, shutdownGraceMs: 300 },
    ...{ reaperIntervalMs: 1000, minSweepIntervalMs: 100 },
    ...{ processConcurrency: 4, shards: 2, maxRunning: 100, eventsEnabled: false },
  },
  { allowShortTimes: true },
);

export type ChaosSystem = Awaited<ReturnType<typeof startChaosSystem>>;

/** Engines, a table and a queue of their own, and an operator who reaches them undisturbed. */
export async function startChaosSystem(settings: Settings = chaosSettings) {
  const [dynamodb, sqs] = await Promise.all([startDynamoDb(), startSqs()]);
  const client = createDynamoDbClient({ clock, config: { ...local, endpoint: dynamodb.endpoint } });
  const sqsClient = createSqsClient({ ...local, endpoint: sqs.endpoint });
  const tableName = 'chaos';
  await createJobsTable(client, tableName);
  const { QueueUrl: queueUrl = '' } = await sqsClient.send(
    new CreateQueueCommand({
      QueueName: 'chaos',
      Attributes: { VisibilityTimeout: String(Math.ceil(visibilityTimeoutMs(settings) / 1000)) },
    }),
  );
  const folder = mkdtempSync(join(tmpdir(), 'leasehold-chaos-'));
  const journalFile = join(folder, 'journal.jsonl');
  const table = createDynamoDbTable({ client, tableName });
  const inspection = createTableInspection({ client, tableName });
  const resources = { tableName, queueUrl, serviceName: 'chaos', eventBusName: 'default' };
  return {
    settings,
    table,
    dynamodb: dynamodb.endpoint,
    sqs: sqs.endpoint,
    journalFile,
    store: createJobStore({ table, clock, random: systemRandom, settings, actor: 'operator' }),
    queue: createSqsQueue({ client: sqsClient, queueUrl, clock }),
    purge: () => sqsClient.send(new PurgeQueueCommand({ QueueUrl: queueUrl })),
    /** The variables with which a process finds the system, by way of these addresses. */
    environment: (endpoints: { readonly dynamodb: string; readonly sqs: string }) => ({
      ...toEnvironment({
        resources: { ...resources, queueUrl: queueUrl.replace(sqs.endpoint, endpoints.sqs) },
        settings,
      }),
      [SHORT_TIMES_VARIABLE]: 'true',
      AWS_REGION: local.region,
      AWS_ACCESS_KEY_ID: local.credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: local.credentials.secretAccessKey,
      AWS_ENDPOINT_URL_DYNAMODB: endpoints.dynamodb,
      AWS_ENDPOINT_URL_SQS: endpoints.sqs,
      POWERTOOLS_LOG_LEVEL: 'SILENT',
      [JOURNAL_FILE]: journalFile,
    }),
    async rows(): Promise<readonly Row[]> {
      const rows: Row[] = [];
      let page = await inspection.scan({});
      rows.push(...page.rows);
      while (page.cursor !== undefined) {
        page = await inspection.scan({ cursor: page.cursor });
        rows.push(...page.rows);
      }
      // Neither the reaper's own row nor what is kept beside a job's.
      return rows.filter(({ jobId }) => !/[:#]/.test(String(jobId)));
    },
    async stop() {
      client.destroy();
      sqsClient.destroy();
      await Promise.all([dynamodb.stop(), sqs.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
