import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { bundle } from '../../../../lib/aws/lambda/bundle.ts';

interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: object;
}
let replies: Reply[] = [];
let requests = 0;
const server = createServer((request, response) => {
  request.resume().once('end', () => {
    requests += 1;
    const { status, headers, body } = replies.shift() ?? { status: 200, body: {} };
    response.writeHead(status, { 'content-type': 'application/x-amz-json-1.0', ...headers });
    response.end(JSON.stringify(body));
  });
});

/** The clients as they are in the bundle of a function of Leasehold's own. */
let dynamodb: typeof import('@aws-sdk/client-dynamodb');
let sqs: typeof import('@aws-sdk/client-sqs');
let folder: string;
const config = () => ({
  endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  region: 'eu-west-1',
  credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
});

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'leasehold-clients-'));
  const entry = (name: string, used: string) => {
    const client = join(import.meta.dirname, '../../../../node_modules/@aws-sdk', `client-${name}`);
    writeFileSync(join(folder, `${name}.ts`), `export { ${used} } from '${client}';`);
    return join(folder, `${name}.ts`);
  };
  await bundle({
    entryPoints: {
      dynamodb: entry(
        'dynamodb',
        'DynamoDBClient, UpdateItemCommand, ConditionalCheckFailedException, DynamoDBServiceException',
      ),
      sqs: entry('sqs', 'SQSClient, DeleteMessageCommand'),
    },
    outdir: folder,
    isOwn: true,
  });
  [dynamodb, sqs] = await Promise.all([
    import(join(folder, 'dynamodb.mjs')),
    import(join(folder, 'sqs.mjs')),
    new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)),
  ]);
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  requests = 0;
});

const refused = (name: string, more: object = {}): Reply => ({
  status: 400,
  body: { __type: `com.amazonaws.dynamodb.v20120810#${name}`, message: 'no', ...more },
});
async function update(...given: Reply[]): Promise<unknown> {
  replies = given;
  const client = new dynamodb.DynamoDBClient(config());
  const command = new dynamodb.UpdateItemCommand({ TableName: 't', Key: { jobId: { S: 'a' } } });
  try {
    return await client.send(command).catch((error: unknown) => error);
  } finally {
    client.destroy();
  }
}

it('reads the row in a refused write, binary values too', async () => {
  const row = { jobId: { S: 'a' }, token: { B: Buffer.from('x').toString('base64') } };
  const error = await update(refused('ConditionalCheckFailedException', { Item: row }));
  expect(error).toBeInstanceOf(dynamodb.ConditionalCheckFailedException);
  expect(error).toMatchObject({ Item: { jobId: { S: 'a' }, token: { B: new Uint8Array([120]) } } });
});

it('tries again after a write that another region’s was in the way of', async () => {
  await expect(update(refused('ReplicatedWriteConflictException'))).resolves.toMatchObject({
    $metadata: { httpStatusCode: 200 },
  });
  expect(requests).toBe(2);
});

it('tries again after a refusal for load', async () => {
  await update(refused('ProvisionedThroughputExceededException'));
  expect(requests).toBe(2);
});

it('tells any other error by the name, message and status that the service gave it', async () => {
  const error = await update(refused('ResourceNotFoundException'));
  expect(error).toBeInstanceOf(dynamodb.DynamoDBServiceException);
  expect(error).toMatchObject({
    ...{ name: 'ResourceNotFoundException', message: 'no', $fault: 'client' },
    $metadata: { httpStatusCode: 400 },
  });
  expect(requests).toBe(1);
});

it('tells an error of SQS by its code', async () => {
  replies = [
    {
      status: 400,
      headers: { 'x-amzn-query-error': 'AWS.SimpleQueueService.NonExistentQueue;Sender' },
      body: { __type: 'com.amazonaws.sqs#QueueDoesNotExist', message: 'no queue' },
    },
  ];
  const client = new sqs.SQSClient(config());
  const command = new sqs.DeleteMessageCommand({ QueueUrl: `${config().endpoint}/q`, ReceiptHandle: 'r' });
  await expect(client.send(command)).rejects.toMatchObject({
    ...{ name: 'AWS.SimpleQueueService.NonExistentQueue', message: 'no queue' },
    $metadata: { httpStatusCode: 400 },
  });
  client.destroy();
});
