import {
  BatchExecuteStatementCommand,
  ConditionalCheckFailedException,
  DynamoDBClient,
  QueryCommand,
} from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { batchedWrite } from '../../../../lib/aws/dynamodb/batch-statement.ts';
import { createDynamoDbTable } from '../../../../lib/aws/dynamodb/dynamodb-table.ts';
import { updateExpression } from '../../../../lib/aws/dynamodb/update-expression.ts';
import { createJobStore } from '../../../../lib/protocol/store/job-store.ts';
import { readReaperRow, scheduleNext } from '../../../../lib/protocol/store/reaper-row.ts';
import {
  type JobTransitionName,
  jobTransitions,
  leaderTransitions,
} from '../../../../lib/protocol/transitions.ts';
import { releaseWakeWrite, renewWakeWrite } from '../../../../lib/protocol/writes/reaper-row-writes.ts';
import type { RowWrite } from '../../../../lib/protocol/writes/row-write.ts';
import { createFakeClock } from '../../../../lib/testing/fake-clock.ts';
import { createFakeRandom } from '../../../../lib/testing/fake-random.ts';
import { createMemoryTable } from '../../../../lib/testing/memory-table.ts';
import { arrange, drivers } from '../../../contract/drivers.ts';
import { createHarness } from '../../../contract/harness.ts';
import { settings } from '../../../support/jobs.ts';
import { row } from '../../../support/rows.ts';

const dynamoDb = mockClient(DynamoDBClient);
const documents = mockClient(DynamoDBDocumentClient);
afterAll(() => {
  dynamoDb.restore();
  documents.restore();
});
const client = new DynamoDBClient({ region: 'eu-west-1' });
const wire = (values: Record<string, unknown>) => marshall(values, { removeUndefinedValues: true });
const table = createDynamoDbTable({ client, tableName: 'jobs' });
const clock = createFakeClock(1_000);
const store = () => createJobStore({ table, clock, random: createFakeRandom(), settings, actor: 'w' });
const claim = { jobId: 'j1', owner: 'w/1', attempt: 2, startedAt: 500 };

beforeEach(() => {
  dynamoDb.reset();
  documents.reset();
});

describe('a request on the wire', () => {
  it('UpdateItem names what must be true, and asks for the row that refuses it', async () => {
    documents.on(UpdateCommand).resolves({ Attributes: { cancelRequested: true } });
    expect(await store().heartbeat(claim, 31_000)).toEqual({ outcome: 'extended', cancelRequested: true });
    expect(documents.call(0).args[0].input).toEqual({
      TableName: 'jobs',
      Key: { jobId: 'j1' },
      UpdateExpression:
        'SET #leaseUntil = :v0, #heartbeatAt = :v1, #changedBy = :v2, #cancelRequested = if_not_exists(#cancelRequested, :v3)',
      ConditionExpression: '#status = :v4 AND #leaseOwner = :v5 AND #attempt = :v6 AND #leaseUntil < :v7',
      ExpressionAttributeNames: {
        '#leaseUntil': 'leaseUntil',
        '#heartbeatAt': 'heartbeatAt',
        '#changedBy': 'changedBy',
        '#cancelRequested': 'cancelRequested',
        '#status': 'status',
        '#leaseOwner': 'leaseOwner',
        '#attempt': 'attempt',
      },
      ExpressionAttributeValues: {
        ':v0': 31000,
        ':v1': 1000,
        ':v2': 'w/u1',
        ':v3': false,
        ':v4': 'running',
        ':v5': 'w/1',
        ':v6': 2,
        ':v7': 31000,
      },
      ReturnValues: 'UPDATED_NEW',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
  });

  it('Query asks one partition of an index, in order, from the cursor on', async () => {
    dynamoDb.on(QueryCommand).resolves({});
    const cursor = { jobId: 'j9', leaseShard: 'r0', leaseUntil: 4 };
    expect(await table.query({ partition: 'r0', after: 5, upTo: 9, limit: 3, cursor })).toEqual({ rows: [] });
    await table.query({ partition: 'f3', limit: 1, newestFirst: true });
    expect(dynamoDb.commandCalls(QueryCommand).map((call) => call.args[0].input)).toEqual([
      {
        TableName: 'jobs',
        IndexName: 'byLease',
        KeyConditionExpression: '#partition = :partition AND #sort BETWEEN :after AND :upTo',
        ExpressionAttributeNames: { '#partition': 'leaseShard', '#sort': 'leaseUntil' },
        ExpressionAttributeValues: wire({ ':partition': 'r0', ':after': 6, ':upTo': 9 }),
        Limit: 3,
        ScanIndexForward: true,
        ExclusiveStartKey: wire(cursor),
      },
      {
        TableName: 'jobs',
        IndexName: 'byLease',
        KeyConditionExpression: '#partition = :partition',
        ExpressionAttributeNames: { '#partition': 'leaseShard' },
        ExpressionAttributeValues: wire({ ':partition': 'f3' }),
        Limit: 1,
        ScanIndexForward: false,
      },
    ]);
  });
});

describe('replies that no engine here would give', () => {
  const refused = new ConditionalCheckFailedException({ message: 'refused', $metadata: {} });

  it('a refusal without its row is followed by one consistent read', async () => {
    documents.on(UpdateCommand).rejects(refused);
    documents.on(GetCommand).resolves({ Item: row({ status: 'done', leaseOwner: 'w/1', attempt: 2 }) });
    expect(await store().complete(claim)).toEqual({ outcome: 'written' });
    documents.on(GetCommand).resolves({});
    expect(await store().complete(claim)).toEqual({ outcome: 'lost' });
  });

  it('a success without attributes is a success', async () => {
    documents.on(UpdateCommand).resolves({});
    expect(await store().heartbeat(claim, 31_000)).toEqual({ outcome: 'extended', cancelRequested: false });
  });

  const three = () => [1, 2, 3].map((attempt) => ({ claim: { ...claim, jobId: `j${attempt}`, attempt } }));

  it('a batch refused whole is done over by UpdateItem', async () => {
    const whole = new Error('Too many parameters');
    whole.name = 'ValidationException';
    dynamoDb.on(BatchExecuteStatementCommand).rejects(whole);
    documents.on(UpdateCommand).resolves({});
    expect(await store().completeMany(three())).toEqual(three().map(() => ({ outcome: 'written' })));
  });
});

describe('no write is unconditional', () => {
  /** Every write that the protocol can make, as handed to the table. */
  const allWrites = async (): Promise<RowWrite[]> => {
    const writes: RowWrite[] = [];
    const memory = createMemoryTable();
    const apply = (write: RowWrite) => {
      writes.push(write);
      return memory.apply(write);
    };
    const recorded = { ...memory, apply };
    const harness = createHarness({ table: recorded, put: async (each) => memory.put(each) });
    for (const name of Object.keys(jobTransitions) as JobTransitionName[])
      for (const from of jobTransitions[name].from)
        await drivers[name](harness, await arrange(harness, name, from));
    const promised = { wake: 'w1', wakeAt: 1, holder: 'r', term: 1, gaugedAt: 0, wholeAt: 0 };
    await scheduleNext({ table: recorded, clock, settings: { shards: 4 } }, promised, undefined);
    await recorded.apply(renewWakeWrite('w1', 2));
    await recorded.apply(releaseWakeWrite('r'));
    await readReaperRow({ table: recorded, settings: { shards: 8 } });
    return writes;
  };

  it('by UpdateItem or in a batch', async () => {
    const writes = await allWrites();
    const names = new Set(writes.map(({ transition }) => transition));
    for (const name of [...Object.keys(jobTransitions), ...Object.keys(leaderTransitions)])
      expect(names).toContain(name);
    for (const write of writes) {
      const update = updateExpression(write, 'jobs');
      expect(update.ConditionExpression?.length).toBeGreaterThan(10);
      expect(update.ReturnValuesOnConditionCheckFailure).toBe('ALL_OLD');
      const statement = batchedWrite(write, 'jobs')?.statement;
      if (statement !== undefined) expect(statement.Statement).toMatch(/^INSERT |WHERE "jobId" = \? AND "/);
    }
  });

  it('what PartiQL cannot say alike on every engine goes into no batch', () => {
    const write = (over: Partial<RowWrite>): RowWrite => ({
      transition: 'complete',
      jobId: 'j1',
      when: [[{ attribute: 'attempt', is: 'equal', value: 1 }]],
      set: { a: 1 },
      returns: 'nothing',
      ...over,
    });
    expect(batchedWrite(write({}), 'jobs')?.statement.Parameters).toEqual([
      { N: '1' },
      { S: 'j1' },
      { N: '1' },
    ]);
    for (const is of ['below', 'atMost'] as const)
      expect(batchedWrite(write({ when: [[{ attribute: 'attempt', is, value: 1 }]] }), 'jobs')).toBeDefined();
    const unsayable: Partial<RowWrite>[] = [
      { remove: ['b', 'c'] },
      { keep: { b: 1 } },
      { sum: { b: { of: 'b', otherwise: 0, plus: 1 } } },
      { when: [[{ attribute: 'b', is: 'differs', value: 1 }]] },
      { when: [[{ attribute: 'b', is: 'present' }]] },
      { when: [[{ attribute: 'a', is: 'equal', value: 1 }], [{ attribute: 'b', is: 'equal', value: 1 }]] },
    ];
    for (const over of unsayable) expect(batchedWrite(write(over), 'jobs')).toBeUndefined();
    expect(
      updateExpression(write({ when: [[{ attribute: 'b', is: 'present' }]] }), 'jobs').ConditionExpression,
    ).toBe('attribute_exists(#b)');
  });
});
