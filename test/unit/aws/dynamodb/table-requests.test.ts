import {
  CreateTableCommand,
  DynamoDBClient,
  QueryCommand,
  ResourceInUseException,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { createJobsTable } from '../../../../lib/aws/dynamodb/create-jobs-table.ts';
import { createDynamoDbTable } from '../../../../lib/aws/dynamodb/dynamodb-table.ts';
import { storeError, writeError } from '../../../../lib/aws/dynamodb/errors.ts';
import { isEmptyRange, queryInput } from '../../../../lib/aws/dynamodb/index-query.ts';
import { BadRowError, StoreUnavailableError, ThrottledError } from '../../../../lib/protocol/errors.ts';
import type { RowWrite } from '../../../../lib/protocol/writes/row-write.ts';

const dynamoDb = mockClient(DynamoDBClient);
afterAll(() => dynamoDb.restore());
beforeEach(() => void dynamoDb.reset());
const client = new DynamoDBClient({ region: 'eu-west-1' });
const table = createDynamoDbTable({ client, tableName: 'jobs' });

describe('a page of the index', () => {
  const asked = (range: { after?: number; upTo?: number }) => {
    const input = queryInput({ partition: 'r0', limit: 1, ...range }, 'jobs');
    return [
      input.KeyConditionExpression,
      input.ExpressionAttributeNames,
      input.ExpressionAttributeValues,
    ] as const;
  };
  const names = { '#partition': 'leaseShard', '#sort': 'leaseUntil' };
  const partition = { ':partition': { S: 'r0' } };

  it('may begin after a moment, end with one, or both', () => {
    expect(asked({ after: 5 })).toEqual([
      '#partition = :partition AND #sort > :after',
      names,
      { ...partition, ':after': { N: '5' } },
    ]);
    expect(asked({ upTo: 9 })).toEqual([
      '#partition = :partition AND #sort <= :upTo',
      names,
      { ...partition, ':upTo': { N: '9' } },
    ]);
    expect(asked({ after: 5, upTo: 9 })).toEqual([
      '#partition = :partition AND #sort BETWEEN :after AND :upTo',
      names,
      { ...partition, ':after': { N: '6' }, ':upTo': { N: '9' } },
    ]);
  });

  it('is empty only where it ends before it begins', () => {
    const ranges = [{}, { after: 5 }, { upTo: 5 }, { after: 5, upTo: 6 }, { after: 5, upTo: 5 }];
    expect(ranges.map(isEmptyRange)).toEqual([false, false, false, false, true]);
    expect(isEmptyRange({ after: 6, upTo: 5 })).toBe(true);
  });

  it('that is empty is not asked for, nor counted', async () => {
    expect(await table.query({ partition: 'r0', limit: 1, after: 5, upTo: 5 })).toEqual({ rows: [] });
    const counted = await table.count({ partition: 'r0', atMost: 1, after: 5, upTo: 5 });
    expect(counted).toEqual({ count: 0 });
    expect(dynamoDb.calls()).toEqual([]);
  });

  it('has a cursor where there may be more, and so has a count', async () => {
    const key = { jobId: 'j', leaseShard: 'r0', leaseUntil: 4 };
    const LastEvaluatedKey = { jobId: { S: 'j' }, leaseShard: { S: 'r0' }, leaseUntil: { N: '4' } };
    dynamoDb.on(QueryCommand).resolves({ Items: [{ jobId: { S: 'j' } }], Count: 1, LastEvaluatedKey });
    const page = await table.query({ partition: 'r0', limit: 1 });
    expect(page).toEqual({ rows: [{ jobId: 'j' }], cursor: key });
    const counted = await table.count({ partition: 'r0', atMost: 1 });
    expect(counted).toEqual({ count: 1, cursor: key });
  });
});

describe('the jobs table on a local engine', () => {
  it('is used if it exists, and any other failure is reported', async () => {
    dynamoDb
      .on(CreateTableCommand)
      .rejectsOnce(new ResourceInUseException({ message: 'there', $metadata: {} }))
      .rejects(new Error('no room'));
    await createJobsTable(client, 'jobs');
    await expect(createJobsTable(client, 'jobs')).rejects.toThrow('no room');
    expect(dynamoDb.commandCalls(UpdateTimeToLiveCommand)).toEqual([]);
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
