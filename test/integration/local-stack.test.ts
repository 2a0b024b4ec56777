import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { DescribeTableCommand, DescribeTimeToLiveCommand } from '@aws-sdk/client-dynamodb';
import { GetQueueAttributesCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '../../lib/aws/clock.ts';
import { createDynamoDbClient } from '../../lib/aws/dynamodb/client.ts';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import { isFinished, type Job } from '../../lib/protocol/job.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { demoSettings } from '../../lib/tools/dev/demo/settings.ts';
import { localEnvironment } from '../../lib/tools/dev/local-environment.ts';
import { type LocalStack, startLocalStack } from '../../lib/tools/dev/stack.ts';
import { resourceOf, type Synthesized, synthesize, withoutValidation } from '../cdk/support.ts';
import { anyEngine, dynamoDbClient, sqsClient, sqsEndpoint, uniqueName } from '../support/engines.ts';
import { isAlive } from '../support/is-alive.ts';
import { lapsesOf } from '../support/worker-stack.ts';

withoutValidation();
const worker = new URL('../../examples/demo.ts', import.meta.url).pathname;

/** The engines of this test run, given as a user gives endpoints: the stack must not start its own. */
const given = () => ({
  AWS_ENDPOINT_URL_DYNAMODB: anyEngine().endpoint,
  AWS_ENDPOINT_URL_SQS: sqsEndpoint(),
  AWS_REGION: 'eu-west-1',
});

describe('a stack on endpoints from the standard AWS variables', () => {
  let stack: LocalStack;
  let made: Synthesized;
  beforeAll(async () => {
    made = synthesize();
    stack = await startLocalStack({ name: uniqueName('stack'), surroundings: given() });
  });
  afterAll(() => stack.stop());

  it('uses them instead of starting engines', () => {
    expect(stack.endpoints).toMatchObject({
      dynamodb: anyEngine().endpoint,
      sqs: sqsEndpoint(),
      engine: 'given',
    });
    expect(stack.environment).toMatchObject({
      AWS_ENDPOINT_URL_DYNAMODB: anyEngine().endpoint,
      LEASEHOLD_TABLE_NAME: stack.tableName,
      LEASEHOLD_QUEUE_URL: stack.queueUrl,
    });
  });

  it('has the table that the synthesized template has', async () => {
    const { Properties } = resourceOf(made, made.jobs.table);
    const client = dynamoDbClient(anyEngine().endpoint);
    const { Table } = await client.send(new DescribeTableCommand({ TableName: stack.tableName }));
    const ttl = await client.send(new DescribeTimeToLiveCommand({ TableName: stack.tableName }));
    client.destroy();
    const byName = <T extends { AttributeName?: string | undefined }>(keys: readonly T[] | undefined) =>
      [...(keys ?? [])].sort((a, b) => (a.AttributeName ?? '').localeCompare(b.AttributeName ?? ''));
    expect(Table?.KeySchema).toEqual(Properties.KeySchema);
    expect(byName(Table?.AttributeDefinitions)).toEqual(
      byName(Properties.AttributeDefinitions as { AttributeName: string }[]),
    );
    const indexes = (list: unknown) =>
      (list as readonly Record<string, unknown>[])
        .map(({ IndexName, KeySchema, Projection }) => {
          const { ProjectionType, NonKeyAttributes } = Projection as Record<string, string[]>;
          return { IndexName, KeySchema, ProjectionType, projects: [...(NonKeyAttributes ?? [])].sort() };
        })
        .sort((a, b) => String(a.IndexName).localeCompare(String(b.IndexName)));
    expect(indexes(Table?.GlobalSecondaryIndexes)).toEqual(indexes(Properties.GlobalSecondaryIndexes));
    expect(ttl.TimeToLiveDescription).toMatchObject({
      TimeToLiveStatus: 'ENABLED',
      AttributeName: (Properties.TimeToLiveSpecification as { AttributeName: string }).AttributeName,
    });
  });

  it('has the queues that the synthesized template has', async () => {
    const client = sqsClient(sqsEndpoint());
    const attributesOf = async (QueueUrl: string) =>
      (await client.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['All'] }))).Attributes ??
      {};
    const own = await attributesOf(stack.queueUrl);
    const dead = await attributesOf(stack.deadLetterQueueUrl);
    client.destroy();
    const queue = resourceOf(made, made.jobs.queue).Properties;
    const deadLetterQueue = resourceOf(made, made.jobs.deadLetterQueue).Properties;
    for (const name of [
      'VisibilityTimeout',
      'MessageRetentionPeriod',
      'MaximumMessageSize',
      'ReceiveMessageWaitTimeSeconds',
    ] as const)
      expect([name, Number(own[name])]).toEqual([name, queue[name]]);
    for (const name of ['VisibilityTimeout', 'MessageRetentionPeriod'] as const)
      expect([name, Number(dead[name])]).toEqual([name, deadLetterQueue[name]]);
    expect(JSON.parse(own.RedrivePolicy ?? '{}')).toEqual({
      deadLetterTargetArn: dead.QueueArn,
      maxReceiveCount: (queue.RedrivePolicy as { maxReceiveCount: number }).maxReceiveCount,
    });
  });
});

describe('a stack with engines of its own', () => {
  let stack: LocalStack;
  beforeAll(async () => {
    stack = await startLocalStack({
      settings: demoSettings,
      workers: 2,
      jobs: worker,
      surroundings: { AWS_ACCESS_KEY_ID: 'AKIAREAL', AWS_SECRET_ACCESS_KEY: 'secret' },
    });
  });
  afterAll(() => stack.stop());

  const open = () => {
    const config = localEnvironment.clientConfig(stack.environment);
    const client = createDynamoDbClient({
      clock: systemClock,
      config: { ...config, endpoint: stack.endpoints.dynamodb },
    });
    const table = createDynamoDbTable({ client, tableName: stack.tableName });
    const parts = { table, clock: systemClock, random: systemRandom, settings: stack.settings };
    return createJobStore({ ...parts, actor: 'test' });
  };
  const send = async (body: unknown) => {
    const client = sqsClient(stack.endpoints.sqs, localEnvironment.clientConfig(stack.environment));
    await client.send(
      new SendMessageCommand({ QueueUrl: stack.queueUrl, MessageBody: JSON.stringify(body) }),
    );
    client.destroy();
  };
  const when = async (jobId: string, isSo: (job: Job) => boolean): Promise<Job> => {
    const store = open();
    for (;;) {
      const job = await store.read(jobId);
      if (job !== undefined && isSo(job)) return job;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };

  it('never hands real credentials to a local engine', () => {
    expect(stack.environment).toMatchObject({
      AWS_ACCESS_KEY_ID: expect.stringMatching(/^LOCAL[0-9a-f]{32}$/),
      AWS_SECRET_ACCESS_KEY: 'local',
    });
  });

  it.each(['DYNAMODB', 'SQS', 'EVENTBRIDGE'])(
    'lets no web page talk to its stand-in for %s',
    async (service) => {
      const { hostname, port, host } = new URL(stack.environment[`AWS_ENDPOINT_URL_${service}`] ?? '');
      const target = {
        DYNAMODB: 'DynamoDB_20120810.ListTables',
        SQS: 'AmazonSQS.ListQueues',
        EVENTBRIDGE: 'AWSEvents.PutEvents',
      }[service];
      /** The status, and what a script of another site may read. */
      const ask = async (method: string, headers: Readonly<Record<string, string>>) => {
        const sent = request({ hostname, port, method, headers: { 'x-amz-target': target, ...headers } });
        sent.end(method === 'POST' ? '{}' : '');
        const [reply] = (await once(sent, 'response')) as [IncomingMessage];
        reply.resume();
        return [reply.statusCode, reply.headers['access-control-allow-origin']];
      };
      const signedWith = (key = '') => ({
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-date': '20240101T000000Z',
        authorization: `AWS4-HMAC-SHA256 Credential=${key}/20240101/us-east-1/x/aws4_request, SignedHeaders=host, Signature=0`,
      });
      const mine = signedWith(stack.environment.AWS_ACCESS_KEY_ID);
      const refused = [403, undefined];
      const page = { origin: 'https://evil.example' };
      const preflight = { ...page, 'access-control-request-headers': 'authorization,x-amz-target' };
      expect(await ask('OPTIONS', preflight)).toEqual(refused);
      // A simple request, which a browser sends without asking first.
      expect(await ask('POST', { ...page, 'content-type': 'text/plain' })).toEqual(refused);
      expect(await ask('POST', signedWith('local'))).toEqual(refused);
      expect(await ask('POST', { ...mine, ...page })).toEqual(refused);
      // A name that was rebound to this machine: for the browser the page is at home.
      expect(await ask('POST', { ...mine, host: `evil.example:${port}` })).toEqual(refused);
      expect((await ask('POST', { ...mine, host }))[0]).toBe(200);
    },
  );

  it('runs a job that any producer sent', async () => {
    await send({ type: 'count-primes', payload: { below: 1000 }, jobId: 'primes' });
    expect(await when('primes', isFinished)).toMatchObject({ status: 'done', result: { primes: 168 } });
  });

  it('gives the job of a killed worker to the next one, which goes on from the checkpoint', async () => {
    await send({ type: 'slow-steps', payload: { steps: 6, stepMs: 300 }, jobId: 'steps' });
    await when('steps', (job) => job.checkpointSeq >= 2);
    const [worker] = stack.workers().filter(({ event }) => JSON.stringify(event ?? '').includes('steps'));
    expect(stack.signal(worker?.pid ?? 0, 'kill')).toBe(true);
    const job = await when('steps', isFinished);
    expect(job).toMatchObject({ status: 'done', result: { steps: 6 } });
    expect(lapsesOf(job)).toBeGreaterThanOrEqual(1);
    expect((job as { result?: { resumedAt: number } }).result?.resumedAt).toBeGreaterThanOrEqual(2);
  });

  it('leaves no process behind when it is stopped in the middle of a job', async () => {
    const busy = new Promise<number>((resolve) => {
      stack.listen(
        (event) => event.kind === 'sandbox' && event.sandbox.state === 'busy' && resolve(event.sandbox.pid),
      );
    });
    await send({ type: 'slow-steps', payload: { steps: 100, stepMs: 1000 }, jobId: 'endless' });
    const pid = await busy;
    expect(isAlive(pid)).toBe(true);
    await stack.stop();
    expect(isAlive(pid)).toBe(false);
    expect(stack.workers()).toEqual([]);
  });
});
