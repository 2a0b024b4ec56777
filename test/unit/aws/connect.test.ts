import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connectDeployed } from '../../../lib/aws/connect-deployed.ts';
import { createClient } from '../../../lib/client/index.ts';
import { createProducer } from '../../../lib/producer/index.ts';
import { resolveSettings } from '../../../lib/settings/settings.ts';
import { createKeptTelemetry } from '../../../lib/testing/kept-telemetry.ts';

const listening = (server: Server) =>
  new Promise<string>((resolve) =>
    server.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    ),
  );

describe('a role that was assumed in code', () => {
  const seen = new Map<string, string>();
  const server = createServer((request, response) => {
    const service = String(request.headers['x-amz-target']).split('.')[0] ?? '';
    seen.set(service, `${request.headers.authorization} token ${request.headers['x-amz-security-token']}`);
    request.resume().once('end', () => {
      response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' }).end('{}');
    });
  });
  let endpoint: string;
  beforeAll(async () => {
    endpoint = await listening(server);
    vi.stubEnv('AWS_ENDPOINT_URL', endpoint);
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'WRONG');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'wrong');
    vi.stubEnv('AWS_REGION', 'us-west-2');
  });
  afterAll(() => {
    vi.unstubAllEnvs();
    server.closeAllConnections();
    server.close();
  });

  it('reaches the clients of DynamoDB, SQS and EventBridge, with its region and session', async () => {
    const credentials = async () => ({
      accessKeyId: 'ROLE',
      secretAccessKey: 'secret',
      sessionToken: 'session',
    });
    const aws = connectDeployed({
      configuration: {
        settings: resolveSettings(),
        resources: {
          ...{ tableName: 'jobs', serviceName: 'test', eventBusName: 'default' },
          queueUrl: `${endpoint}/123456789012/jobs`,
        },
      },
      actor: 'test',
      telemetry: Object.assign(createKeptTelemetry(), { nameRequest: () => {}, flush: () => {} }),
      dynamodb: { region: 'eu-central-1', credentials },
    });
    await aws.table.read('a');
    await aws.queue.sendHints([{ jobId: 'a', type: 't', delaySeconds: 0 }]);
    await aws.events.publish([{ name: 'JobRetried', detail: { at: 0 } as never }]);
    aws.close();
    expect([...seen.keys()].sort()).toEqual(['AWSEvents', 'AmazonSQS', 'DynamoDB_20120810']);
    for (const [service, signed] of seen)
      expect(signed, service).toMatch(/Credential=ROLE\/\d+\/eu-central-1\/.* token session$/);
  });
});

describe('a queue that does not answer', () => {
  const server = createServer(() => {});
  let queue: string;
  beforeAll(async () => {
    queue = `${await listening(server)}/123456789012/jobs`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  // 2 attempts of 2 s.
  it('is given up on by producers and clients within seconds', async () => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'a');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'b');
    vi.stubEnv('AWS_REGION', 'eu-west-1');
    const address = { endpoint: new URL(queue).origin, region: 'eu-west-1' };
    const client = createClient({ table: 'jobs', queue, dynamodb: address, sqs: address });
    vi.stubEnv('AWS_ENDPOINT_URL', address.endpoint);
    const begun = performance.now();
    const outcomes = await Promise.allSettled([
      createProducer({ queue }).send('t', {}),
      client.send('t', {}),
    ]);
    vi.unstubAllEnvs();
    client.close();
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(performance.now() - begun).toBeLessThan(20_000);
  }, 30_000);
});
