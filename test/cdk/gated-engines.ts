import { ReceiveMessageCommand, SendMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { SQSEvent } from 'aws-lambda';
import { systemClock, systemRandom } from '../../lib/aws/clock.ts';
import { createJobsTable } from '../../lib/aws/dynamodb/create-jobs-table.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import type { JobStore, Table } from '../../lib/protocol/ports.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import type { Settings } from '../../lib/settings/settings.ts';
import { createLocalQueues, type LocalQueues } from '../../lib/tools/dev/create-local-queues.ts';
import { startDynamoDb } from '../../lib/tools/dev/engines/dynamodb-engine.ts';
import { startSqs } from '../../lib/tools/dev/engines/sqs-engine.ts';
import { type BusEvent, startEventBus } from '../../lib/tools/dev/event-bus.ts';
import { poolVariables, reaperVariables, resourceVariables } from '../../lib/wire/environment.ts';
import { DEFAULT_POOL, type Pools, poolsText } from '../../lib/wire/pools.ts';
import { deploymentTags } from '../../lib/wire/schedule-group.ts';
import { startDeploymentApi } from '../support/deployment-api.ts';
import { dynamoDbClient, sqsClient } from '../support/engines.ts';
import { type IamGate, startIamGate } from './iam-gate.ts';

const NAME = 'leasehold-gated';
const REGION = 'eu-west-1';

type Queue = LocalQueues['queue'];

/** By name, as the functions know them. */
export type GatedPools = Readonly<Record<string, Pick<Pools[string], 'types' | 'tasks'>>>;

/** A gate, and the variables by which a program comes to it and finds the system behind. */
export interface Gate extends IamGate {
  readonly environment: Readonly<Record<string, string>>;
}

/** Table, queues and bus on real engines, to which programs come only through gates. */
export interface GatedEngines {
  readonly queues: LocalQueues;
  readonly events: readonly BusEvent[];
  /** Past all gates. */
  readonly table: Table;
  /** A gate that lets pass what these permissions allow. */
  gateFor(permissions: readonly string[]): Promise<Gate>;
  /** The store at a time of one's choice, past all gates: rows can be made to have lapsed. */
  storeAt(shiftMs: number): JobStore;
  /** Sends these bodies to a queue, and takes them out again as Lambda would. */
  batch(queue: Queue, bodies: readonly string[]): Promise<SQSEvent>;
  send(queue: Queue, bodies: readonly string[]): Promise<void>;
  stop(): Promise<void>;
}

export async function startGatedEngines(settings: Settings, pools: GatedPools = {}): Promise<GatedEngines> {
  const events: BusEvent[] = [];
  const gates: IamGate[] = [];
  const [dynamoDb, sqs, bus] = await Promise.all([
    startDynamoDb(),
    startSqs(),
    startEventBus((event) => events.push(event)),
  ]);
  const client = dynamoDbClient(dynamoDb.endpoint);
  const sqsDirect = sqsClient(sqs.endpoint);
  await createJobsTable(client, NAME);
  const queues = await createLocalQueues(sqsDirect, NAME, settings, Object.keys(pools));
  const table = createDynamoDbTable({ client, tableName: NAME });
  const scheduler = await startDeploymentApi({
    own: { [deploymentTags.tableName]: NAME, [deploymentTags.queueUrl]: queues.queue.url },
  });

  return {
    queues,
    events,
    table,
    async gateFor(permissions) {
      const gate = await startIamGate(
        new Set(permissions),
        {
          ...{ dynamodb: dynamoDb.endpoint, sqs: sqs.endpoint, events: bus.endpoint },
          scheduler: scheduler.environment.AWS_ENDPOINT_URL_SCHEDULER,
          cloudwatch: scheduler.environment.AWS_ENDPOINT_URL_SCHEDULER,
        },
        {
          queues: {
            [NAME]: 'Queue',
            [`${NAME}-dead-letter`]: 'DeadLetterQueue',
            [`${NAME}-wake`]: 'WakeQueue',
            ...Object.fromEntries(
              Object.keys(pools).map((pool) => [`${NAME}-pool-${pool}`, `Pool${pool}Queue`]),
            ),
          },
        },
      );
      gates.push(gate);
      const urlOf = ({ url }: Queue) => `${gate.endpoint}${new URL(url).pathname}`;
      const routes = Object.entries(queues.pools).map(([pool, queue]) => [
        pool,
        { ...pools[pool], queueUrl: urlOf(queue) },
      ]);
      return {
        ...gate,
        environment: {
          AWS_ENDPOINT_URL: gate.endpoint,
          AWS_REGION: REGION,
          AWS_ACCESS_KEY_ID: 'local',
          AWS_SECRET_ACCESS_KEY: 'local',
          [resourceVariables.tableName]: NAME,
          [resourceVariables.queueUrl]: urlOf(queues.queue),
          [reaperVariables.wakeQueueUrl]: urlOf(queues.wakeQueue),
          ...(routes.length === 0
            ? undefined
            : {
                [poolVariables.pools]: poolsText(Object.fromEntries(routes)),
                [poolVariables.pool]: DEFAULT_POOL,
              }),
        },
      };
    },
    storeAt: (shiftMs) =>
      createJobStore({
        table,
        clock: { ...systemClock, now: () => systemClock.now() + shiftMs },
        random: systemRandom,
        settings,
        actor: 'test',
      }),
    async batch(queue, bodies) {
      await send(sqsDirect, queue, bodies);
      return receive(sqsDirect, queue, bodies);
    },
    send: (queue, bodies) => send(sqsDirect, queue, bodies),
    async stop() {
      await Promise.all(gates.map((gate) => gate.stop()));
      client.destroy();
      sqsDirect.destroy();
      scheduler.close();
      await Promise.all([dynamoDb.stop(), sqs.stop(), bus.stop()]);
    },
  };
}

async function send(sqs: SQSClient, { url }: Queue, bodies: readonly string[]): Promise<void> {
  const Entries = bodies.map((MessageBody, i) => ({ Id: String(i), MessageBody }));
  await sqs.send(new SendMessageBatchCommand({ QueueUrl: url, Entries }));
}

async function receive(sqs: SQSClient, { url, arn }: Queue, bodies: readonly string[]): Promise<SQSEvent> {
  const Records: SQSEvent['Records'] = [];
  while (Records.length < bodies.length) {
    const { Messages = [] } = await sqs.send(
      new ReceiveMessageCommand({
        QueueUrl: url,
        MaxNumberOfMessages: bodies.length - Records.length,
        WaitTimeSeconds: 1,
        MessageSystemAttributeNames: ['All'],
      }),
    );
    // Hints that functions sent meanwhile are left alone: they stay invisible for as long as the suite runs.
    const own = Messages.filter(({ Body = '' }) => bodies.includes(Body));
    for (const { MessageId = '', ReceiptHandle = '', Body = '', Attributes = {} } of own)
      Records.push({
        messageId: MessageId,
        receiptHandle: ReceiptHandle,
        body: Body,
        attributes: Attributes as unknown as SQSEvent['Records'][number]['attributes'],
        messageAttributes: {},
        md5OfBody: '',
        eventSource: 'aws:sqs',
        eventSourceARN: arn,
        awsRegion: REGION,
      });
  }
  return { Records };
}
