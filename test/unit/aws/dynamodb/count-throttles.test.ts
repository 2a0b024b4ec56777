import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BatchExecuteStatementCommand, BatchGetItemCommand, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../../../lib/aws/clock.ts';
import { createDynamoDbClient } from '../../../../lib/aws/dynamodb/client.ts';
import { reportThrottles } from '../../../../lib/aws/dynamodb/count-throttles.ts';
import { createFakeClock } from '../../../../lib/testing/fake-clock.ts';
import { createKeptTelemetry } from '../../../../lib/testing/kept-telemetry.ts';

type Reply = readonly [status: number, body: object];
const refused = (name: string, more = {}): Reply => [
  400,
  { __type: `com.amazonaws.dynamodb.v20120810#${name}`, message: 'no', ...more },
];
let replies: Reply[] = [];
/** Undefined where nothing was told at all. */
let told: string[] | undefined;

const server = createServer((request, response) => {
  request.resume().once('end', () => {
    const [status, body] = replies.shift() ?? [200, {}];
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0' }).end(JSON.stringify(body));
  });
});
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
afterAll(() => void server.close());

/** What one command was told of, where these are the replies. */
async function throttlesOf(command: object, ...given: Reply[]): Promise<readonly string[] | undefined> {
  replies = given;
  told = undefined;
  const client = createDynamoDbClient({
    clock: systemClock,
    config: {
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      region: 'eu-west-1',
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    },
    onThrottled: (reasons) => {
      told = [...(told ?? []), ...reasons];
    },
  });
  await client.send(command as GetItemCommand).catch(() => {});
  client.destroy();
  return told;
}
const get = () => new GetItemCommand({ TableName: 'jobs', Key: { jobId: { S: 'a' } } });
const batch = (...statements: string[]) =>
  new BatchExecuteStatementCommand({ Statements: statements.map((Statement) => ({ Statement })) });
const jobs = 'arn:aws:dynamodb:eu-west-1:123456789012:table/jobs';
const onDemandMessage =
  'Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table or index so please try again shortly.';

it('counts each attempt that was refused for load, also where the next one succeeds', async () => {
  expect(await throttlesOf(get())).toBeUndefined();
  expect(await throttlesOf(get(), refused('ThrottlingException'))).toEqual([
    'ThrottlingException of jobs or an index',
  ]);
  expect(
    await throttlesOf(
      get(),
      refused('ProvisionedThroughputExceededException'),
      refused('RequestLimitExceeded'),
    ),
  ).toHaveLength(2);
  expect(await throttlesOf(get(), refused('AccessDeniedException'))).toBeUndefined();
});

it('counts what a reply of success leaves undone for load', async () => {
  const reads = new BatchGetItemCommand({ RequestItems: { jobs: { Keys: [{ jobId: { S: 'a' } }] } } });
  const UnprocessedKeys = { jobs: { Keys: [{ jobId: { S: 'a' } }] } };
  expect(await throttlesOf(reads, [200, { Responses: {}, UnprocessedKeys }])).toEqual([
    'UnprocessedKeys of jobs',
  ]);
  expect(await throttlesOf(reads, [200, { Responses: {}, UnprocessedKeys: {} }])).toBeUndefined();
});

/** Exceptions differ in how they spell the list. */
it.each([
  ['ProvisionedThroughputExceededException', 'ThrottlingReasons'],
  ['RequestLimitExceeded', 'ThrottlingReasons'],
  ['ThrottlingException', 'throttlingReasons'],
])('names each limit and its table or index where DynamoDB answers %s', async (name, list) => {
  const reasons = [
    { reason: 'IndexWriteKeyRangeThroughputExceeded', resource: `${jobs}/index/byLease` },
    { reason: 'TableWriteMaxOnDemandThroughputExceeded', resource: jobs },
  ];
  for (const command of [get(), batch('UPDATE "jobs" SET a=?')])
    expect(await throttlesOf(command, refused(name, { [list]: reasons }))).toEqual([
      'IndexWriteKeyRangeThroughputExceeded of jobs/index/byLease, TableWriteMaxOnDemandThroughputExceeded of jobs',
    ]);
});

it('names the limit of a statement by its message, because DynamoDB gives it no reasons', async () => {
  const table = 'The level of configured provisioned throughput for the table was exceeded.';
  const index =
    'The level of configured provisioned throughput for one or more global secondary indexes of the table was exceeded.';
  const Responses = [
    { Error: { Code: 'ThrottlingError', Message: onDemandMessage } },
    { Error: { Code: 'ProvisionedThroughputExceeded', Message: table } },
    { Error: { Code: 'ProvisionedThroughputExceeded', Message: index } },
    {
      Error: {
        Code: 'ThrottlingError',
        Message: 'Throughput exceeds the maximum OnDemandThroughput configured on table or index',
      },
    },
    {
      Error: {
        Code: 'RequestLimitExceeded',
        Message: 'Throughput exceeds the current throughput limit for your account.',
      },
    },
    { Error: { Code: 'ThrottlingError', Message: 'slow down' } },
    { Error: { Code: 'ConditionalCheckFailed', Message: 'no' } },
    {},
  ];
  const statements = batch(...Responses.map(() => 'UPDATE "jobs" SET a=?'));
  expect(await throttlesOf(statements, [200, { Responses }])).toEqual([
    'KeyRangeThroughputExceeded of jobs or an index',
    'ProvisionedThroughputExceeded of jobs',
    'ProvisionedThroughputExceeded of an index of jobs',
    'MaxOnDemandThroughputExceeded of jobs or an index',
    'AccountLimitExceeded of jobs or an index',
    'ThrottlingError of jobs or an index',
  ]);
});

it('counts every throttle by its limit, and logs each limit once a minute', async () => {
  const clock = createFakeClock();
  const telemetry = createKeptTelemetry();
  const byLimit = new Map<string, number>();
  const countThrottled = (limit: string, requests: number) =>
    void byLimit.set(limit, (byLimit.get(limit) ?? 0) + requests);
  const report = reportThrottles({ ...telemetry, countThrottled }, clock);
  for (let i = 0; i < 100; i += 1) report(['a of t', 'a of t', 'b of t']);
  await clock.advance(59_999);
  report(['a of t']);
  await clock.advance(1);
  report(['a of t']);
  expect(telemetry.total('RequestsThrottled')).toBe(302);
  expect(Object.fromEntries(byLimit)).toEqual({ 'a of t': 202, 'b of t': 100 });
  expect(telemetry.lines.map(({ fields }) => fields.reason)).toEqual(['a of t', 'b of t', 'a of t']);
});
