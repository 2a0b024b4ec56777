import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { connectDeployed } from '../../../lib/aws/connect-deployed.ts';
import { createClient } from '../../../lib/client/index.ts';
import { createProducer } from '../../../lib/client/producer/index.ts';
import { resolveSettings } from '../../../lib/settings/settings.ts';
import { createKeptTelemetry } from '../../../lib/testing/kept-telemetry.ts';

const listening = (server: Server) =>
  new Promise<string>((resolve) =>
    server.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    ),
  );

describe('credentials that were assumed in code', () => {
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

  it('reach the clients of DynamoDB, SQS and EventBridge of a worker, with region and session', async () => {
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
      telemetry: Object.assign(createKeptTelemetry(), { middleware: [], flush: () => {} }),
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

  it('reach a producer and a client alike, with region and endpoint; table and queue come from the environment', async () => {
    seen.clear();
    vi.stubEnv('AWS_ENDPOINT_URL', 'http://127.0.0.1:1');
    vi.stubEnv('LEASEHOLD_QUEUE_URL', 'https://sqs.eu-central-1.amazonaws.com/123456789012/jobs');
    vi.stubEnv('LEASEHOLD_TABLE_NAME', 'jobs');
    const credentials = { accessKeyId: 'ROLE', secretAccessKey: 'secret' };
    const aws = { region: 'eu-central-1', credentials, endpoint };
    const client = createClient(aws);
    for (const { send } of [createProducer(aws), client]) {
      await send('t', {}).catch(() => {});
      expect([...seen.keys()]).toEqual(['AmazonSQS']);
      expect(seen.get('AmazonSQS')).toMatch(/Credential=ROLE\/\d+\/eu-central-1\//);
      seen.clear();
    }
    await client.get('a').catch(() => {});
    expect(seen.get('DynamoDB_20120810')).toMatch(/Credential=ROLE\/\d+\/eu-central-1\//);
    client.close();
  });
});
