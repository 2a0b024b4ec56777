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
const get = () => new GetItemCommand({ TableName: 't', Key: { jobId: { S: 'a' } } });

it('counts each attempt that was refused for load, also where the next one succeeds', async () => {
  expect(await throttlesOf(get())).toBeUndefined();
  expect(await throttlesOf(get(), refused('ThrottlingException'))).toEqual(['ThrottlingException: no']);
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
  const statements = new BatchExecuteStatementCommand({
    Statements: [{ Statement: 's' }, { Statement: 't' }],
  });
  const Responses = [
    { Error: { Code: 'ThrottlingError', Message: 'no' } },
    { Error: { Code: 'ConditionalCheckFailed', Message: 'no' } },
    {},
  ];
  expect(await throttlesOf(statements, [200, { Responses }])).toEqual(['ThrottlingError: no']);
  const reads = new BatchGetItemCommand({ RequestItems: { t: { Keys: [{ jobId: { S: 'a' } }] } } });
  const UnprocessedKeys = { t: { Keys: [{ jobId: { S: 'a' } }] } };
  expect(await throttlesOf(reads, [200, { Responses: {}, UnprocessedKeys }])).toEqual([
    'unprocessed keys of t',
  ]);
  expect(await throttlesOf(reads, [200, { Responses: {}, UnprocessedKeys: {} }])).toBeUndefined();
});

it('names the limit and the resource, also of a batch that was refused as a whole', async () => {
  const resource = 'arn:aws:dynamodb:eu-west-1:123456789012:table/jobs/index/byLease';
  const ThrottlingReasons = [{ reason: 'IndexWriteKeyRangeThroughputExceeded', resource }];
  const batch = new BatchExecuteStatementCommand({ Statements: [{ Statement: 's' }] });
  for (const command of [get(), batch])
    for (const name of ['ThrottlingException', 'ProvisionedThroughputExceededException'])
      expect(await throttlesOf(command, refused(name, { ThrottlingReasons }))).toEqual([
        `IndexWriteKeyRangeThroughputExceeded of ${resource}`,
      ]);
});

it('counts every throttle, and logs each reason once a minute', async () => {
  const clock = createFakeClock();
  const telemetry = createKeptTelemetry();
  const report = reportThrottles(telemetry, clock);
  for (let i = 0; i < 100; i += 1) report(['a of t', 'a of t', 'b of t']);
  await clock.advance(59_999);
  report(['a of t']);
  await clock.advance(1);
  report(['a of t']);
  expect(telemetry.total('RequestsThrottled')).toBe(302);
  expect(telemetry.lines.map(({ fields }) => fields.reason)).toEqual(['a of t', 'b of t', 'a of t']);
});
