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
  const client = createDynamoDbClient({
    clock,
    clockGuard: { observe: (reply: unknown) => void seen.push(reply) } as never,
    config: {
      region: 'eu-west-1',
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
      requestHandler: {
        async handle() {
          await clock.advance(1000);
          const { status = 200, headers, body = '{}' } = answers.shift() ?? { headers: {} };
          return { response: { statusCode: status, headers, body: new Uint8Array(Buffer.from(body)) } };
        },
      } as never,
    },
  });
  return { table: createDynamoDbTable({ client, tableName: 'jobs' }), seen };
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
});
