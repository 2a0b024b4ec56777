import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createDynamoDbTable } from '../../../../lib/aws/dynamodb/dynamodb-table.ts';
import { storeError, writeError } from '../../../../lib/aws/dynamodb/errors.ts';
import { BadRowError, StoreUnavailableError, ThrottledError } from '../../../../lib/protocol/errors.ts';
import type { RowWrite } from '../../../../lib/protocol/writes/row-write.ts';

const dynamoDb = mockClient(DynamoDBClient);
afterAll(() => dynamoDb.restore());
beforeEach(() => void dynamoDb.reset());
const client = new DynamoDBClient({ region: 'eu-west-1' });
const table = createDynamoDbTable({ client, tableName: 'jobs' });

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

  it('is the row’s fault only where something in it cannot be added to', () => {
    const write: RowWrite = {
      ...{ transition: 'complete', jobId: 'j', when: [], set: {}, returns: 'nothing' },
    };
    expect(writeError(write, new Error('gone'))).toBeInstanceOf(StoreUnavailableError);
    expect(writeError(write, 'gone')).toBeInstanceOf(StoreUnavailableError);
    expect(writeError(write, new Error('An operand has an incorrect data type'))).toBeInstanceOf(BadRowError);
  });
});
