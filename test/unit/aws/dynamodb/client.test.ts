import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { createDynamoDbClient } from '../../../../lib/aws/dynamodb/client.ts';
import { createDynamoDbTable } from '../../../../lib/aws/dynamodb/dynamodb-table.ts';
import { createFakeClock } from '../../../../lib/testing/fake-clock.ts';

interface Answer {
  readonly status?: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** A table whose requests go nowhere, take a second each, and are answered in turn. */
function stage(...answers: Answer[]) {
  const clock = createFakeClock(0);
  const seen: unknown[] = [];
  const bodies: unknown[] = [];
  const client = createDynamoDbClient({
    clock,
    clockGuard: { observe: (reply: unknown) => void seen.push(reply) } as never,
    config: {
      region: 'eu-west-1',
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
      requestHandler: {
        async handle(request: { readonly body: Uint8Array | string }) {
          bodies.push(JSON.parse(Buffer.from(request.body).toString()));
          await clock.advance(1000);
          const { status = 200, headers, body = '{}' } = answers.shift() ?? { headers: {} };
          return { response: { statusCode: status, headers, body: new Uint8Array(Buffer.from(body)) } };
        },
      } as never,
    },
  });
  return { table: createDynamoDbTable({ client, tableName: 'jobs' }), seen, bodies };
}

describe('the clock guard', () => {
  it('is shown each attempt by itself, also one that was refused', async () => {
    const busy = '{"__type":"x#InternalServerError","message":"busy"}';
    const { table, seen } = stage(
      { status: 500, headers: { date: 'first' }, body: busy },
      { headers: { date: 'second' } },
    );
    await table.read('j');
    expect(seen).toEqual([
      { tookMs: 1000, receivedAt: 1000, date: 'first' },
      { tookMs: 1000, receivedAt: 2000, date: 'second' },
    ]);
  });

  it('is shown nothing by a reply without a date', async () => {
    const { table, seen } = stage({ headers: {} });
    await table.read('j');
    expect(seen).toEqual([]);
  });
});

it('opens no more connections than it may', async () => {
  let connections = 0;
  const server = createServer((request, response) => {
    request.resume().once('end', () => response.end('{}'));
  }).listen(0, '127.0.0.1');
  server.on('connection', () => {
    connections += 1;
  });
  await once(server, 'listening');
  const client = createDynamoDbClient({
    ...{ clock: createFakeClock(), maxSockets: 1 },
    config: {
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      ...{ region: 'eu-west-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } },
    },
  });
  const table = createDynamoDbTable({ client, tableName: 'jobs' });
  await Promise.all(['a', 'b', 'c', 'd'].map((jobId) => table.read(jobId)));
  expect(connections).toBe(1);
  client.destroy();
  server.close();
});

describe('the document client', () => {
  it('reads numbers beyond double precision, and omits undefined values', async () => {
    const big = '{"Item":{"jobId":{"S":"j"},"n":{"N":"123456789012345678901234567890"}}}';
    const { table, bodies } = stage({ headers: {}, body: big }, { headers: {} });
    expect(await table.read('j')).toEqual({ jobId: 'j', n: 1.2345678901234568e29 });
    await table.apply({
      ...{ transition: 'complete', jobId: 'j', returns: 'nothing' },
      when: [[{ attribute: 'attempt', is: 'equal', value: 1 }]],
      set: { claim: { to: 1, outcome: undefined } as never },
    });
    expect(bodies[1]).toMatchObject({
      ExpressionAttributeValues: { ':v0': { M: { to: { N: '1' } } }, ':v1': { N: '1' } },
    });
  });
});
