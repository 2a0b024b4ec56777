import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { BatchExecuteStatementCommand, DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { ListQueuesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { describe, expect, it, vi } from 'vitest';
import { createDynamoDbClient } from '../../../lib/aws/dynamodb/client.ts';
import { createSqsClient } from '../../../lib/aws/sqs/client.ts';
import { resolveSettings } from '../../../lib/settings/settings.ts';
import { createFakeClock } from '../../../lib/testing/fake-clock.ts';

interface Sent {
  readonly headers: Readonly<Record<string, string>>;
}

/** Clients whose requests go nowhere and are answered with an empty object. */
function recording() {
  const sent: Sent[] = [];
  const config = {
    region: 'eu-west-1',
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    requestHandler: {
      handle: async (request: Sent) => {
        sent.push({ headers: { ...request.headers } });
        return { response: { statusCode: 200, headers: {}, body: new Uint8Array(Buffer.from('{}')) } };
      },
    } as never,
  };
  return {
    ...{ sent, config },
    dynamoDb: createDynamoDbClient({ clock: createFakeClock(), config }),
    sqs: createSqsClient(config),
  };
}

describe('any request', () => {
  it('identifies its sender to DynamoDB and SQS, and is signed', async () => {
    const { sent, dynamoDb, sqs } = recording();
    await dynamoDb.send(new GetItemCommand({ TableName: 't', Key: { jobId: { S: 'j' } } }));
    await sqs.send(new ListQueuesCommand({}));
    expect(sent).toHaveLength(2);
    for (const { headers } of sent) {
      expect(headers['user-agent']).toMatch(/ leasehold/);
      expect(headers.authorization).toMatch(/^AWS4-HMAC-SHA256 Credential=a\/.*Signature=[0-9a-f]{64}$/);
    }
  });

  it('carries the trace on Lambda, which the SDK writes in capitals, and is signed all the same', async () => {
    vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'worker');
    vi.stubEnv('_X_AMZN_TRACE_ID', 'Root=1-5759e988-bd862e3fe1be46a994272793');
    const { sent, dynamoDb, sqs } = recording();
    await dynamoDb.send(new GetItemCommand({ TableName: 't', Key: { jobId: { S: 'j' } } }));
    await sqs.send(new ListQueuesCommand({}));
    vi.unstubAllEnvs();
    expect(sent).toHaveLength(2);
    for (const { headers } of sent) {
      expect(headers['X-Amzn-Trace-Id']).toBe('Root=1-5759e988-bd862e3fe1be46a994272793');
      expect(headers.authorization).toMatch(/Signature=[0-9a-f]{64}$/);
    }
  });

  it('is not copied for a log: the SDK still calls that step loggerMiddleware, and our clients lack it', () => {
    const { config, dynamoDb, sqs } = recording();
    for (const usual of [new DynamoDBClient(config), new SQSClient(config)])
      expect(usual.middlewareStack.identify().join()).toContain('loggerMiddleware');
    for (const ours of [dynamoDb, sqs]) expect(ours.middlewareStack.identify().join()).not.toMatch(/logger/i);
  });
});

describe('a request to DynamoDB', () => {
  it('that hangs has failed before the next heartbeat is due, its second attempt included', async () => {
    const client = createDynamoDbClient({ clock: createFakeClock(), config: { region: 'eu-west-1' } });
    const { configProvider } = client.config.requestHandler as unknown as {
      readonly configProvider: Promise<{ readonly requestTimeout: number }>;
    };
    const attempts = await client.config.maxAttempts();
    const { requestTimeout } = await configProvider;
    expect(attempts).toBe(2);
    expect(attempts * requestTimeout).toBeLessThan(resolveSettings().heartbeatMs);
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
      clock: createFakeClock(),
      config: { ...config, requestHandler: {}, endpoint: `http://127.0.0.1:${port}` },
    });
    const reply = await dynamoDb.send(new BatchExecuteStatementCommand({ Statements: [] }));
    expect([reply.Responses, requests]).toEqual([JSON.parse(text).Responses, 2]);
    dynamoDb.destroy();
    server.close();
  });
});
