import { join } from 'node:path';
import { ReceiveMessageCommand, SendMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { App, Duration } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import type { SQSEvent } from 'aws-lambda';
import { resourceVariables } from '../../lib/contract/environment.ts';
import { createJobsTable } from '../../lib/dynamodb/create-jobs-table.ts';
import { createDynamoDbTable } from '../../lib/dynamodb/dynamodb-table.ts';
import type { FunctionName } from '../../lib/infra/bundling.ts';
import { LeaseholdStack } from '../../lib/infra/leasehold-stack.ts';
import { createJobStore } from '../../lib/jobs/job-store.ts';
import type { JobStore } from '../../lib/jobs/ports.ts';
import type { Settings } from '../../lib/jobs/settings.ts';
import { createQueues, type LocalQueue } from '../../lib/local/create-queues.ts';
import { startDynamoDb } from '../../lib/local/engines/dynamodb-engine.ts';
import { startSqs } from '../../lib/local/engines/sqs-engine.ts';
import { type BusEvent, startEventBus } from '../../lib/local/event-bus.ts';
import { createLambdaFunction, type LambdaFunction } from '../../lib/local/lambda-host/lambda-function.ts';
import type { OutputLine } from '../../lib/local/lambda-host/output-line.ts';
import { systemChance, systemClock } from '../../lib/system/system-clock.ts';
import { dynamoDbClient, sqsClient } from '../support/engines.ts';
import { type IamGate, startIamGate, type Upstreams } from './iam-gate.ts';
import { permissionsOf } from './policies.ts';
import { featureFlags, flat, resourceOf } from './support.ts';

/** The bundles of a synthesized stack, as processes on real engines, each with the environment and the policy of the template. */
export interface Deployed {
  readonly template: Template;
  readonly settings: Settings;
  readonly functions: Readonly<Record<FunctionName, DeployedFunction>>;
  readonly events: readonly BusEvent[];
  /** What the functions wrote to their logs. */
  readonly lines: readonly OutputLine[];
  readonly queues: { readonly queue: LocalQueue; readonly deadLetterQueue: LocalQueue };
  /** The store at a time of one's choice: rows can be made to have lapsed. */
  storeAt(shiftMs: number): JobStore;
  /** Sends these bodies to a queue, and takes them out again as Lambda would. */
  batch(queue: LocalQueue, bodies: readonly string[]): Promise<SQSEvent>;
  stop(): Promise<void>;
}

export interface DeployedFunction extends LambdaFunction {
  readonly codeDir: string;
  readonly variables: Readonly<Record<string, string>>;
  /** What its policy in the template allows. */
  readonly permissions: readonly string[];
  readonly gate: IamGate;
}

const REGION = { AWS_REGION: 'eu-west-1', AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' };

/** Settings under which every path of the functions is short: one sweep, and no time for a second message. */
const short = { watch: 'never', functionTimeout: Duration.seconds(20), batchSize: 2 } as const;

/** Bundles for real, which the other suites leave out. */
function synthesizeBundles() {
  const app = new App({
    context: { ...featureFlags, 'aws:cdk:enable-asset-metadata': true },
    analyticsReporting: false,
  });
  const stack = new LeaseholdStack(app, 'Leasehold', { jobs: short });
  const { directory } = app.synth();
  const template = Template.fromStack(stack);
  const { jobs } = stack;
  const made = { stack, jobs, template };
  const partOf = (fn: typeof jobs.workerFunction) => {
    const { Metadata, Properties } = resourceOf(made, fn);
    const { 'aws:asset:path': asset } = Metadata as Record<string, string>;
    const { Variables } = flat(Properties.Environment) as { Variables: Record<string, string> };
    return {
      codeDir: join(directory, asset ?? ''),
      variables: Variables,
      timeoutMs: Number(Properties.Timeout) * 1000,
      memoryMb: Number(Properties.MemorySize),
      handler: String(Properties.Handler),
    };
  };
  return {
    jobs,
    template,
    parts: {
      worker: partOf(jobs.workerFunction),
      reaper: partOf(jobs.reaperFunction),
      'dead-letter': partOf(jobs.deadLetterFunction),
    } satisfies Record<FunctionName, unknown>,
  };
}

export async function deploy(): Promise<Deployed> {
  const { jobs, template, parts } = synthesizeBundles();
  const { settings } = jobs;
  const events: BusEvent[] = [];
  const lines: OutputLine[] = [];
  const [dynamoDb, sqs, bus] = await Promise.all([
    startDynamoDb(),
    startSqs(),
    startEventBus((event) => events.push(event)),
  ]);
  const client = dynamoDbClient(dynamoDb.endpoint);
  const sqsDirect = sqsClient(sqs.endpoint);
  const tableName = 'leasehold-deployed';
  await createJobsTable(client, tableName);
  const queues = await createQueues(sqsDirect, 'leasehold-deployed', settings);
  const upstreams: Upstreams = { dynamodb: dynamoDb.endpoint, sqs: sqs.endpoint, events: bus.endpoint };

  const start = async (name: FunctionName, policy: RegExp): Promise<DeployedFunction> => {
    const permissions = permissionsOf(template, policy);
    const gate = await startIamGate(new Set(permissions), upstreams, {
      queues: { 'leasehold-deployed': 'Queue', 'leasehold-deployed-dead-letter': 'DeadLetterQueue' },
    });
    const { variables, ...part } = parts[name];
    const environment = {
      ...variables,
      ...REGION,
      AWS_ENDPOINT_URL: gate.endpoint,
      [resourceVariables.tableName]: tableName,
      [resourceVariables.queueUrl]: `${gate.endpoint}${new URL(queues.queue.url).pathname}`,
    };
    const fn = createLambdaFunction({
      functionName: name,
      concurrency: 1,
      environment,
      ...part,
      observe: (event) => event.kind === 'output' && lines.push(event.line),
    });
    return { ...fn, codeDir: part.codeDir, variables, permissions, gate };
  };
  const functions = {
    worker: await start('worker', /JobsWorkerRole/),
    reaper: await start('reaper', /JobsReaperRole/),
    'dead-letter': await start('dead-letter', /JobsDeadLetterRole/),
  };

  return {
    template,
    settings,
    functions,
    events,
    lines,
    queues,
    storeAt: (shiftMs) =>
      createJobStore({
        table: createDynamoDbTable({ client: DynamoDBDocumentClient.from(client), tableName }),
        clock: { ...systemClock, now: () => systemClock.now() + shiftMs },
        chance: systemChance,
        settings,
        actor: 'test',
      }),
    batch: (queue, bodies) => sendAndReceive(sqsDirect, queue, bodies),
    async stop() {
      const all = Object.values(functions);
      await Promise.all(all.map((each) => each.stop()));
      await Promise.all(all.map(({ gate }) => gate.stop()));
      client.destroy();
      sqsDirect.destroy();
      await Promise.all([dynamoDb.stop(), sqs.stop(), bus.stop()]);
    },
  };
}

async function sendAndReceive(
  sqs: SQSClient,
  { url, arn }: LocalQueue,
  bodies: readonly string[],
): Promise<SQSEvent> {
  const Entries = bodies.map((MessageBody, i) => ({ Id: String(i), MessageBody }));
  await sqs.send(new SendMessageBatchCommand({ QueueUrl: url, Entries }));
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
        awsRegion: 'eu-west-1',
      });
  }
  return { Records };
}
