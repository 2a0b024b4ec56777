import type { SQSClient } from '@aws-sdk/client-sqs';
import type { Clock } from '../../lib/protocol/ports.ts';
import { anyEngine, createQueue, type SharedDynamoDb, sqsClient, sqsEndpoint } from './engines.ts';
import { type FaultProxy, startFaultProxy } from './fault-proxy.ts';
import { type JobsTable, openJobsTable } from './jobs-table.ts';

/** A table and a queue of a suite's own on the engines of this run, behind proxies that see, count and disturb every request. */
export interface Stage {
  readonly tableName: string;
  /** The queue's address at its proxy. */
  readonly queueUrl: string;
  readonly dynamodb: FaultProxy;
  readonly sqs: FaultProxy;
  /** Past the proxies, for looking on and for setting the scene. */
  readonly direct: {
    readonly jobs: JobsTable;
    readonly queueUrl: string;
    readonly sqs: SQSClient;
  };
  close(): Promise<void>;
}

export interface StageOptions {
  /** @default - the first engine of this test run */
  readonly engine?: Pick<SharedDynamoDb, 'endpoint'>;
  /** The address of the SQS engine. @default - that of this test run */
  readonly queues?: string;
  readonly clock?: Clock;
  readonly queueAttributes?: Record<string, string>;
}

export async function openStage(options: StageOptions = {}): Promise<Stage> {
  const { engine = anyEngine(), queues = sqsEndpoint(), clock, queueAttributes } = options;
  const client = sqsClient(queues);
  const [jobs, queueUrl, dynamodb, sqs] = await Promise.all([
    openJobsTable(engine.endpoint, clock),
    createQueue(client, queueAttributes),
    startFaultProxy({ target: engine.endpoint }),
    startFaultProxy({ target: queues }),
  ]);
  return {
    tableName: jobs.tableName,
    queueUrl: `${sqs.endpoint}${new URL(queueUrl).pathname}`,
    ...{ dynamodb, sqs },
    direct: { jobs, queueUrl, sqs: client },
    async close() {
      client.destroy();
      await jobs.close();
      await Promise.all([dynamodb.stop(), sqs.stop()]);
    },
  };
}
