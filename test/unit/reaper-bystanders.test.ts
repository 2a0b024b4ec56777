import { setImmediate as turn } from 'node:timers/promises';
import { BatchExecuteStatementCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { describe, expect, it } from 'vitest';
import { createDynamoDbTable } from '../../lib/aws/dynamodb/dynamodb-table.ts';
import type { Table } from '../../lib/protocol/ports.ts';
import { sweep } from '../../lib/reaper/sweep.ts';
import { createFakeClock } from '../../lib/testing/fake-clock.ts';
import { createMemoryTable } from '../../lib/testing/memory-table.ts';
import { reaperStage } from '../support/reaper-stage.ts';

/** Counts how many calls are under way at the same time, at most. */
function atOnce() {
  let now = 0;
  const most = { calls: 0 };
  const counted = async <T>(call: () => Promise<T>): Promise<T> => {
    now += 1;
    most.calls = Math.max(most.calls, now);
    await turn();
    return call().finally(() => {
      now -= 1;
    });
  };
  return { most, counted };
}

describe('a mass reclaim leaves the table to others', () => {
  it('has at most two large reads and two chunks of writes under way', async () => {
    const memory = createMemoryTable();
    const [reads, writes] = [atOnce(), atOnce()];
    const table: Table = {
      ...memory,
      query: (request) =>
        request.limit > 12 ? reads.counted(() => memory.query(request)) : memory.query(request),
      count: (request) => reads.counted(() => memory.count(request)),
      applyMany: (many) => writes.counted(() => memory.applyMany(many)),
    };
    const clock = createFakeClock();
    const { deps, claim, settings } = reaperStage({ table, clock });
    for (let i = 0; i < 3000; i++) await claim(`job-${i}`);
    await clock.advance(settings.leaseMs + settings.skewMs);
    expect((await sweep(deps)).reclaimed).toBe(1000);
    expect(reads.most.calls).toBe(2);
    expect(writes.most.calls).toBe(2);
  });

  it('writes one batch of a chunk after the other', async () => {
    const sends = atOnce();
    // Of this one client: the class is shared with the test files beside this one.
    const dynamoDb = new DynamoDBClient({});
    const client = mockClient(dynamoDb);
    client
      .on(BatchExecuteStatementCommand)
      .callsFake((input) => sends.counted(async () => ({ Responses: input.Statements.map(() => ({})) })));
    const table = createDynamoDbTable({ client: dynamoDb, tableName: 'jobs' });
    const results = await table.applyMany(
      Array.from({ length: 110 }, (_, i) => ({
        ...{ transition: 'reclaim', jobId: `j${i}`, set: { status: 'pending' }, returns: 'nothing' as const },
        when: [[{ attribute: 'attempt', is: 'equal' as const, value: 1 }]],
      })),
    );
    expect(results.every(({ applied }) => applied === true)).toBe(true);
    expect(client.commandCalls(BatchExecuteStatementCommand)).toHaveLength(5);
    expect(sends.most.calls).toBe(1);
  });
});
