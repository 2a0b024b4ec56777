import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BatchExecuteStatementCommand, BatchGetItemCommand, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../../../lib/aws/clock.ts';
import { createDynamoDbClient } from '../../../../lib/aws/dynamodb/client.ts';

type Reply = readonly [status: number, body: object];
const refused = (name: string): Reply => [
  400,
  { __type: `com.amazonaws.dynamodb.v20120810#${name}`, message: 'no' },
];
let replies: Reply[] = [];
/** Undefined where nothing was told at all. */
let told: number | undefined;

const server = createServer((request, response) => {
  request.resume().once('end', () => {
    const [status, body] = replies.shift() ?? [200, {}];
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify(body));
  });
});
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => void server.close());

/** What one command was told of, where these are the replies. */
async function throttlesOf(command: object, ...given: Reply[]): Promise<number | undefined> {
  replies = given;
  told = undefined;
  const client = createDynamoDbClient({
    clock: systemClock,
    config: {
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      region: 'eu-west-1',
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    },
    onThrottled: (requests) => {
      told = (told ?? 0) + requests;
    },
  });
  await client.send(command as GetItemCommand).catch(() => {});
  client.destroy();
  return told;
}
const get = () => new GetItemCommand({ TableName: 't', Key: { jobId: { S: 'a' } } });

it('counts each attempt that was refused for load, also where the next one succeeds', async () => {
  expect(await throttlesOf(get())).toBeUndefined();
  expect(await throttlesOf(get(), refused('ThrottlingException'))).toBe(1);
  expect(
    await throttlesOf(
      get(),
      refused('ProvisionedThroughputExceededException'),
      refused('RequestLimitExceeded'),
    ),
  ).toBe(2);
  expect(await throttlesOf(get(), refused('AccessDeniedException'))).toBeUndefined();
});

it('counts what a reply of success leaves undone for load', async () => {
  const statements = new BatchExecuteStatementCommand({
    Statements: [{ Statement: 's' }, { Statement: 't' }],
  });
  const Responses = [
    { Error: { Code: 'ThrottlingError', Message: 'no' } },
    { Error: { Code: 'ConditionalCheckFailed', Message: 'no' } },
    {},
  ];
  expect(await throttlesOf(statements, [200, { Responses }])).toBe(1);
  const reads = new BatchGetItemCommand({ RequestItems: { t: { Keys: [{ jobId: { S: 'a' } }] } } });
  const UnprocessedKeys = { t: { Keys: [{ jobId: { S: 'a' } }] } };
  expect(await throttlesOf(reads, [200, { Responses: {}, UnprocessedKeys }])).toBe(1);
  expect(await throttlesOf(reads, [200, { Responses: {}, UnprocessedKeys: {} }])).toBeUndefined();
});
