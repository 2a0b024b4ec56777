import {
  BatchExecuteStatementCommand,
  ConditionalCheckFailedException,
  DynamoDBClient,
  QueryCommand,
} from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { toItem } from '../../../../lib/aws/dynamodb/attributes.ts';
import { batchedWrite } from '../../../../lib/aws/dynamodb/batch-statement.ts';
import { createDynamoDbTable } from '../../../../lib/aws/dynamodb/dynamodb-table.ts';
import { statementError, storeError, writeError } from '../../../../lib/aws/dynamodb/errors.ts';
import { StoreUnavailableError, ThrottledError } from '../../../../lib/protocol/errors.ts';
import type { RowWrite } from '../../../../lib/protocol/writes/row-write.ts';

const dynamoDb = mockClient(DynamoDBClient);
const documents = mockClient(DynamoDBDocumentClient);
afterAll(() => {
  dynamoDb.restore();
  documents.restore();
});
const client = new DynamoDBClient({ region: 'eu-west-1' });
const table = createDynamoDbTable({ client, tableName: 'jobs' });
const write = (jobId: string, over: Partial<RowWrite> = {}): RowWrite => ({
  transition: 'complete',
  jobId,
  when: [[{ attribute: 'attempt', is: 'equal', value: 1 }]],
  set: { status: 'done' },
  returns: 'nothing',
  ...over,
});
/** The jobs of each batch, and those written by themselves. */
const sent = () => ({
  batches: dynamoDb
    .commandCalls(BatchExecuteStatementCommand)
    .map(({ args }) => args[0].input.Statements?.map(({ Parameters }) => Parameters?.[1]?.S)),
  singles: documents.commandCalls(UpdateCommand).map(({ args }) => args[0].input.Key?.jobId),
});

beforeEach(() => {
  dynamoDb.reset();
  documents.reset();
  documents.on(UpdateCommand).resolves({});
  dynamoDb
    .on(BatchExecuteStatementCommand)
    .callsFake(({ Statements }) => ({ Responses: Statements.map(() => ({})) }));
});

describe('many writes', () => {
  it('go into one batch from three on, and below that side by side', async () => {
    expect(await table.applyMany([write('a'), write('b')])).toHaveLength(2);
    expect(sent()).toEqual({ batches: [], singles: ['a', 'b'] });
    documents.resetHistory();
    await table.applyMany([write('a'), write('b'), write('c')]);
    expect(sent()).toEqual({ batches: [['a', 'b', 'c']], singles: [] });
  });

  it('leave a second write to a row, and one that PartiQL cannot say, out of the batch', async () => {
    const unsayable = write('x', { remove: ['b', 'c'] });
    const writes = [write('a'), write('b'), unsayable, write('c'), write('a')];
    expect((await table.applyMany(writes)).map(({ applied }) => applied)).toEqual(writes.map(() => true));
    expect(sent()).toEqual({ batches: [['a', 'b', 'c']], singles: ['x', 'a'] });
  });
});

describe('a refusal that brings its row', () => {
  const row = { jobId: 'a', status: 'done', attempt: 3 };

  it('is not followed by a read', async () => {
    documents
      .on(UpdateCommand)
      .rejects(new ConditionalCheckFailedException({ message: 'no', $metadata: {}, Item: toItem(row) }));
    expect(await table.apply(write('a'))).toEqual({ applied: false, row });
    dynamoDb.on(BatchExecuteStatementCommand).resolves({
      Responses: [{}, { Error: { Code: 'ConditionalCheckFailed', Item: toItem(row) } }, {}],
    });
    expect((await table.applyMany([write('b'), write('a'), write('c')]))[1]).toEqual({ applied: false, row });
    expect(documents.commandCalls(GetCommand)).toEqual([]);
  });
});

describe('a statement', () => {
  const statement = (over: Partial<RowWrite>) => batchedWrite(write('j', over), 'jobs')?.statement;

  it('says exactly what the write says', () => {
    const when = [
      [
        { attribute: 'attempt', is: 'equal', value: 1 },
        { attribute: 'leaseUntil', is: 'below', value: 7 },
        { attribute: 'notBefore', is: 'atMost', value: 9 },
      ],
    ] as const;
    expect(statement({ when, remove: ['leaseUntil'] })).toEqual({
      Statement:
        'UPDATE "jobs" SET "status" = ? REMOVE "leaseUntil" WHERE "jobId" = ? AND "attempt" = ? AND "leaseUntil" < ? AND "notBefore" <= ?',
      Parameters: [{ S: 'done' }, { S: 'j' }, { N: '1' }, { N: '7' }, { N: '9' }],
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    expect(statement({})?.Statement).toBe(
      'UPDATE "jobs" SET "status" = ? WHERE "jobId" = ? AND "attempt" = ?',
    );
  });

  it('inserts only where the row itself must be absent', () => {
    const absent = { attribute: 'jobId', is: 'absent' } as const;
    const pending = { attribute: 'status', is: 'equal', value: 'pending' } as const;
    expect(
      statement({ when: [[absent], [pending]], sum: { n: { of: 'n', otherwise: 0, plus: 1 } } }),
    ).toEqual({
      Statement: `INSERT INTO "jobs" VALUE {'jobId': ?, 'n': ?, 'status': ?}`,
      Parameters: [{ S: 'j' }, { N: '1' }, { S: 'done' }],
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    expect(statement({ when: [[pending, absent]] })?.Statement).toMatch(/^INSERT/);
    expect(statement({ when: [[{ attribute: 'owner', is: 'absent' }]] })?.Statement).toMatch(
      /^UPDATE .* WHERE "jobId" = \? AND "owner" IS MISSING$/,
    );
    expect(statement({ when: [[{ ...absent, is: 'equal', value: 'j' }]] })?.Statement).toMatch(/^UPDATE/);
  });
});

describe('errors', () => {
  it('name the request, the limit and the counters', async () => {
    dynamoDb.on(QueryCommand).rejects(new Error('gone'));
    await expect(table.count({ partition: 'r0', atMost: 1 })).rejects.toThrow(/Query/);
    await expect(table.query({ partition: 'r0', limit: 1 })).rejects.toThrow(/Query/);
    expect(storeError('PutItem', new Error('Item size has exceeded the maximum')).message).toMatch(
      /row.*409601.*409600/s,
    );
    expect((statementError('complete', {}).cause as Error).name).toBe('Unknown');
    const sum = { a: { of: 'a', otherwise: 0, plus: 1 }, b: { of: 'b', otherwise: 0, plus: 1 } };
    expect(writeError(write('j', { sum }), new Error('incorrect operand type')).message).toContain(
      "'a', 'b' is not a number, so 'complete'",
    );
  });
});

describe('a page of the index', () => {
  it('that is empty is not asked for, nor counted', async () => {
    expect(await table.query({ partition: 'r0', limit: 1, after: 5, upTo: 5 })).toEqual({ rows: [] });
    const counted = await table.count({ partition: 'r0', atMost: 1, after: 5, upTo: 5 });
    expect(counted).toEqual({ count: 0 });
    expect(dynamoDb.calls()).toEqual([]);
  });
});

describe('the failure of a request', () => {
  it('is identified by the name of the error', () => {
    for (const name of [
      ...['ProvisionedThroughputExceededException', 'ProvisionedThroughputExceeded', 'RequestLimitExceeded'],
      ...['ThrottlingException', 'ThrottlingError'],
    ])
      expect(storeError('Query', Object.assign(new Error('no'), { name }))).toBeInstanceOf(ThrottledError);
    for (const other of [new Error('ThrottlingException'), undefined, null, 'ThrottlingException'])
      expect(storeError('Query', other)).toBeInstanceOf(StoreUnavailableError);
  });
});
