import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BatchExecuteStatementCommand, GetItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import { ListQueuesCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { describe, expect, it } from 'vitest';
import { createDynamoDbClient } from '../../../lib/aws/dynamodb/client.ts';
import { asPlainJson } from '../../../lib/aws/plain-json.ts';
import { createSqsClient } from '../../../lib/aws/sqs/client.ts';
import { createHandClock } from '../../../lib/testing/hand-clock.ts';

interface Sent {
  readonly method: string;
  readonly protocol: string;
  readonly port?: number;
  readonly hostname: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Clients whose requests go nowhere and are answered in turn, the last answer again and again. */
function recording(
  ...answers: readonly { readonly status?: number; readonly body?: string; readonly date?: string }[]
) {
  const sent: Sent[] = [];
  const config = {
    region: 'eu-west-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    requestHandler: {
      handle: async (request: Sent) => {
        sent.push({ ...request, headers: { ...request.headers } });
        const { status = 200, body = '{}', date } = answers[sent.length - 1] ?? answers.at(-1) ?? {};
        const headers: Record<string, string> = { 'x-amzn-requestid': 'r-1' };
        if (date !== undefined) headers.date = date;
        return { response: { statusCode: status, headers, body: new Uint8Array(Buffer.from(body)) } };
      },
    } as never,
  };
  return {
    ...{ sent, config },
    dynamoDb: createDynamoDbClient({ clock: createHandClock(), config }),
    sqs: createSqsClient(config),
  };
}

const parts = ({ method, protocol, hostname, port, path, headers, body }: Sent) => ({
  ...{ method, protocol, hostname, port, path },
  ...{ target: headers['x-amz-target'], type: headers['content-type'] },
  body: JSON.parse(Buffer.from(body).toString()) as unknown,
});

describe('a command as plain JSON', () => {
  it.each([
    [
      'DynamoDB_20120810.BatchExecuteStatement',
      () =>
        new BatchExecuteStatementCommand({
          Statements: [
            {
              Statement: 'SELECT ?',
              Parameters: [{ S: 'é"' }, { N: '1' }, { BOOL: true }, { M: { a: { S: '' } } }],
            },
          ],
        }),
    ],
    [
      'DynamoDB_20120810.Query',
      () =>
        new QueryCommand({ TableName: 't', Limit: 3, ExclusiveStartKey: undefined, ScanIndexForward: false }),
    ],
  ])('asks for the same as the SDK would: %s', async (target, command) => {
    const { sent, dynamoDb } = recording();
    await dynamoDb.send(command() as QueryCommand);
    const { sent: plain, dynamoDb: other } = recording();
    await other.send(asPlainJson(command() as QueryCommand, target));
    expect(plain.map(parts)).toEqual(sent.map(parts));
    expect(plain[0]?.headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=a\/.*Signature=[0-9a-f]{64}$/,
    );
  });

  it('goes where the queue is', async () => {
    const { sent, sqs } = recording();
    const QueueUrl = 'https://sqs.eu-central-1.amazonaws.com/1/jobs';
    await sqs.send(asPlainJson(new ReceiveMessageCommand({ QueueUrl }), 'AmazonSQS.ReceiveMessage'));
    await sqs.send(new ReceiveMessageCommand({ QueueUrl }));
    expect(sent[0]?.hostname).toBe(sent[1]?.hostname);
    expect(sent.map(parts)[0]).toEqual(sent.map(parts)[1]);
  });

  it('brings back what the reply says', async () => {
    const body = { Responses: [{ Error: { Code: 'DuplicateItem', Item: { jobId: { S: 'j' } } } }, {}] };
    const { sent, dynamoDb } = recording({ body: JSON.stringify(body) });
    const command = new BatchExecuteStatementCommand({ Statements: [] });
    const { Responses, $metadata } = await dynamoDb.send(asPlainJson(command, 'x.y'));
    expect(sent[0]?.headers['x-amz-target']).toBe('x.y');
    expect(Responses).toEqual(body.Responses);
    expect($metadata).toMatchObject({ httpStatusCode: 200, requestId: 'r-1' });
  });

  it('fails with the name that the service gave, as the SDK tells it', async () => {
    const body =
      '{"__type":"com.amazonaws.dynamodb.v20120810#ValidationException","message":"no such table"}';
    const { dynamoDb } = recording({ status: 400, body });
    const command = () => new BatchExecuteStatementCommand({ Statements: [] });
    const failure = (sending: Promise<unknown>) => sending.catch((error: unknown) => error as Error);
    const plain = await failure(dynamoDb.send(asPlainJson(command(), 'x.y')));
    const usual = await failure(recording({ status: 400, body }).dynamoDb.send(command()));
    expect(plain).toMatchObject({ name: 'ValidationException', message: 'no such table' });
    expect(usual).toMatchObject({ name: 'ValidationException', message: 'no such table' });
  });

  it('is tried again by the SDK where the service is throttled or broken', async () => {
    const { sent, dynamoDb } = recording(
      { status: 400, body: '{"__type":"x#ThrottlingException","message":"slow down"}' },
      { status: 503, body: '<html>not JSON</html>' },
      { body: '{"Responses":[]}' },
    );
    const command = new BatchExecuteStatementCommand({ Statements: [] });
    expect(await dynamoDb.send(asPlainJson(command, 'x.y'))).toMatchObject({ Responses: [] });
    expect(sent).toHaveLength(3);
  });

  it('is signed for the service’s time and tried again where it was refused for a wrong clock, as the SDK does it', async () => {
    const refused = {
      status: 403,
      body: '{"__type":"x#InvalidSignatureException","message":"Signature expired"}',
    };
    const ahead = new Date(Date.now() + 3_600_000);
    const { sent, sqs } = recording({ ...refused, date: ahead.toUTCString() }, {});
    const QueueUrl = 'https://sqs.eu-west-1.amazonaws.com/1/q';
    await sqs.send(asPlainJson(new ReceiveMessageCommand({ QueueUrl }), 'AmazonSQS.ReceiveMessage'));
    expect(sent).toHaveLength(2);
    const hourOf = (at: Date) => at.toISOString().replace(/[-:]/g, '').slice(0, 11);
    expect(sent[1]?.headers['x-amz-date']).toMatch(
      new RegExp(`^(${hourOf(ahead)}|${hourOf(new Date(ahead.getTime() - 60_000))})`),
    );
  });

  it('keeps the reply of a failure where nobody who logs it meets it', async () => {
    const { dynamoDb } = recording({ status: 400, body: '{"__type":"x#Y","message":"no"}' });
    const command = new BatchExecuteStatementCommand({ Statements: [] });
    const error = await dynamoDb.send(asPlainJson(command, 'x.y')).catch((thrown: Error) => thrown);
    expect(error).toHaveProperty('$response.statusCode', 400);
    expect(Object.keys(error)).not.toContain('$response');
  });

  it('is tried again where its reply is cut off, and read whole where it comes in parts', async () => {
    const text = JSON.stringify({ Responses: [{ TableName: 'é'.repeat(50_000) }] });
    let requests = 0;
    const server = createServer((_, response) => {
      requests += 1;
      response.writeHead(200, { 'content-length': String(Buffer.byteLength(text)) });
      const half = Buffer.from(text).subarray(0, 50_001);
      response.write(half, () => {
        if (requests === 1) response.destroy();
        else setImmediate(() => response.end(Buffer.from(text).subarray(half.length)));
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { config } = recording();
    const dynamoDb = createDynamoDbClient({
      clock: createHandClock(),
      config: { ...config, requestHandler: {}, endpoint: `http://127.0.0.1:${port}` },
    });
    const command = new BatchExecuteStatementCommand({ Statements: [] });
    const reply = await dynamoDb.send(asPlainJson(command, 'x.y'));
    expect([reply.Responses, requests]).toEqual([JSON.parse(text).Responses, 2]);
    dynamoDb.destroy();
    server.close();
  });

  it('tells what came instead of JSON', async () => {
    const { dynamoDb } = recording({ status: 413, body: '<html>too large</html>' });
    const command = new BatchExecuteStatementCommand({ Statements: [] });
    await expect(dynamoDb.send(asPlainJson(command, 'x.y'))).rejects.toThrow('too large');
  });

  it('replaces two steps of the SDK, which still have these names', () => {
    const { dynamoDb, sqs } = recording();
    for (const client of [dynamoDb, sqs]) {
      const names = client.middlewareStack.identify().join();
      expect(names).toContain('serializerMiddleware');
      expect(names).toContain('deserializerMiddleware');
    }
  });
});

describe('any request', () => {
  it('says to DynamoDB and to SQS who asks, and is signed', async () => {
    const { sent, dynamoDb, sqs } = recording();
    await dynamoDb.send(new GetItemCommand({ TableName: 't', Key: { jobId: { S: 'j' } } }));
    await sqs.send(new ListQueuesCommand({}));
    expect(sent).toHaveLength(2);
    for (const { headers } of sent) {
      expect(headers['user-agent']).toMatch(/ leasehold/);
      expect(headers.authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=a\/.*Signature=[0-9a-f]{64}$/);
    }
  });

  it('is not copied for a log that nobody keeps', () => {
    const { dynamoDb, sqs } = recording();
    for (const { middlewareStack } of [dynamoDb, sqs])
      expect(middlewareStack.identify().join()).not.toContain('logger');
  });

  it('is sent with the credentials that the SDK finds by itself', async () => {
    const { sent, config } = recording();
    const { credentials: _, ...found } = config;
    await createSqsClient(found).send(new ListQueuesCommand({}));
    expect(sent[0]?.headers.authorization).toContain('Credential=local/');
  });
});
