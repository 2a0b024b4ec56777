import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createClient } from '../../lib/client/index.ts';
import { createProducer } from '../../lib/client/producer/index.ts';

describe('a queue that does not answer', () => {
  let requests = 0;
  const server = createServer(() => {
    requests += 1;
  });
  let endpoint: string;
  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    vi.stubEnv('AWS_ENDPOINT_URL', endpoint);
  });
  afterAll(() => {
    vi.unstubAllEnvs();
    server.closeAllConnections();
    server.close();
  });

  // Each takes 2 s.
  it('is given up on by producers and clients after two attempts', async () => {
    const queue = `${endpoint}/123456789012/jobs`;
    const address = { endpoint, region: 'eu-west-1' };
    const client = createClient({ table: 'jobs', queue, dynamodb: address, sqs: address });
    const outcomes = await Promise.allSettled([
      createProducer({ queue }).send('t', {}),
      client.send('t', {}),
    ]);
    client.close();
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(requests).toBe(4);
  });
});
