import { BatchExecuteStatementCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { BatchedWrite } from '../../../../lib/aws/dynamodb/batch-statement.ts';
import { endOfRequest } from '../../../../lib/aws/dynamodb/batch-writes.ts';
import { createDynamoDbTable } from '../../../../lib/aws/dynamodb/dynamodb-table.ts';
import { StoreUnavailableError, ThrottledError } from '../../../../lib/protocol/errors.ts';
import type { Table } from '../../../../lib/protocol/ports.ts';
import type { RowWrite } from '../../../../lib/protocol/writes/row-write.ts';

const dynamoDb = mockClient(DynamoDBClient);
const documents = mockClient(DynamoDBDocumentClient);
afterAll(() => {
  dynamoDb.restore();
  documents.restore();
});
let table: Table;
const write = (jobId: string, over: Partial<RowWrite> = {}): RowWrite => ({
  ...{ transition: 'complete', jobId, when: [[{ attribute: 'attempt', is: 'equal', value: 1 }]] },
  ...{ set: { status: 'done' }, returns: 'nothing', ...over },
});
const three = [write('a'), write('b'), write('c')];
const written = (jobId: string) => ({ applied: true, row: { jobId, status: 'done' } });
const updates = () => documents.commandCalls(UpdateCommand).map(({ args }) => args[0].input.Key?.jobId);
const replies = (...Responses: object[]) => dynamoDb.on(BatchExecuteStatementCommand).resolves({ Responses });

beforeEach(() => {
  table = createDynamoDbTable({ client: new DynamoDBClient({ region: 'eu-west-1' }), tableName: 'jobs' });
  dynamoDb.reset();
  documents.reset();
  documents.on(UpdateCommand).resolves({ Attributes: { by: 'UpdateItem' } });
});

describe('one request', () => {
  const MAX = 1024 * 1024;
  /** Writes with texts of so many characters, and a number each, which counts for nothing. */
  const texts = (...lengths: number[]): BatchedWrite[] =>
    lengths.map((length) => ({
      write: write('j'),
      statement: {
        ...{ Statement: 's', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' },
        Parameters: [{ N: '1' }, { S: 'x'.repeat(length) }],
      },
    }));

  it('has at most 25 statements', () => {
    const many = texts(...Array.from({ length: 30 }, () => 1));
    expect([endOfRequest(many, 0), endOfRequest(many, 4), endOfRequest(many, 25)]).toEqual([25, 29, 30]);
  });

  it('stays below the character limit, except for a single larger statement', () => {
    expect(endOfRequest(texts(MAX / 2, MAX / 2), 0)).toBe(2);
    expect(endOfRequest(texts(MAX / 2, MAX / 2, 1), 0)).toBe(2);
    expect(endOfRequest(texts(MAX / 2, MAX / 2 + 1), 0)).toBe(1);
    expect(endOfRequest(texts(1, MAX + 1, 1), 1)).toBe(2);
    expect(endOfRequest(texts(MAX, 1, 2, 3), 1)).toBe(4);
  });
});

describe('a batch', () => {
  it('that got no answer has failed, and nothing is done over', async () => {
    dynamoDb.on(BatchExecuteStatementCommand).rejects(new Error('gone'));
    const results = await table.applyMany(three);
    const error = expect.any(StoreUnavailableError);
    expect(results).toEqual(three.map(() => ({ applied: 'failed', error })));
    expect(results).toMatchObject(
      three.map(() => ({ error: { message: expect.stringContaining('BatchExecuteStatement') } })),
    );
    expect(updates()).toEqual([]);
  });

  it('repeats inconclusive writes with UpdateItem, and fails throttled ones', async () => {
    const failed = (Code: string) => ({ Error: { Code, Message: 'no' } });
    replies(failed('DuplicateItem'), failed('ValidationError'), failed('ThrottlingError'), {});
    const results = await table.applyMany([...three, write('d')]);
    const byUpdate = { applied: true, row: { by: 'UpdateItem' } };
    expect(results).toEqual([
      ...[byUpdate, byUpdate],
      { applied: 'failed', error: expect.any(ThrottledError) },
      written('d'),
    ]);
    expect(updates()).toEqual(['a', 'b']);
  });

  it('reads the row that refused a statement where the reply does not bring it', async () => {
    replies({ Error: { Code: 'ConditionalCheckFailed' } }, {}, {});
    documents.on(GetCommand).resolves({ Item: { jobId: 'a', status: 'failed' } });
    expect(await table.applyMany(three)).toEqual([
      { applied: false, row: { jobId: 'a', status: 'failed' } },
      ...[written('b'), written('c')],
    ]);
    documents.on(GetCommand).rejects(new Error('gone'));
    const [unknown] = await table.applyMany(three);
    expect(unknown).toEqual({ applied: 'failed', error: expect.any(StoreUnavailableError) });
    expect(unknown).toMatchObject({ error: { message: expect.stringContaining('GetItem') } });
    expect(updates()).toEqual([]);
  });
});
