import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { DescribeTableCommand, DescribeTimeToLiveCommand } from '@aws-sdk/client-dynamodb';
import { GetQueueAttributesCommand } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { localEnvironment } from '../../lib/tools/dev/local-environment.ts';
import { type LocalStack, startLocalStack } from '../../lib/tools/dev/stack.ts';
import { resourceOf, type Synthesized, synthesize, withoutValidation } from '../cdk/support.ts';
import { dynamoDbClient, sqsClient } from '../support/engines.ts';

withoutValidation();

describe('a stack that starts its engines', () => {
  let stack: LocalStack;
  let made: Synthesized;
  const clientConfig = () => localEnvironment.clientConfig(stack.environment);
  beforeAll(async () => {
    made = synthesize();
    const surroundings = { AWS_ACCESS_KEY_ID: 'AKIAREAL', AWS_SECRET_ACCESS_KEY: 'secret' };
    stack = await startLocalStack({ surroundings });
  });
  afterAll(() => stack.stop());

  it('has the table that the synthesized template has', async () => {
    const { Properties } = resourceOf(made, made.jobs.table);
    const client = dynamoDbClient(stack.endpoints.dynamodb, clientConfig());
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
    const client = sqsClient(stack.endpoints.sqs, clientConfig());
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
});
