import { CreateTableCommand } from '@aws-sdk/client-dynamodb';

/** A small table with a sparse index, for suites about engines and proxies rather than about jobs. */
export const createTable = (TableName: string): CreateTableCommand =>
  new CreateTableCommand({
    TableName,
    BillingMode: 'PAY_PER_REQUEST',
    KeySchema: [{ AttributeName: 'jobId', KeyType: 'HASH' }],
    AttributeDefinitions: [
      { AttributeName: 'jobId', AttributeType: 'S' },
      { AttributeName: 'leaseShard', AttributeType: 'S' },
      { AttributeName: 'leaseUntil', AttributeType: 'N' },
    ],
    GlobalSecondaryIndexes: [
      {
        IndexName: 'byLease',
        KeySchema: [
          { AttributeName: 'leaseShard', KeyType: 'HASH' },
          { AttributeName: 'leaseUntil', KeyType: 'RANGE' },
        ],
        Projection: { ProjectionType: 'KEYS_ONLY' },
      },
    ],
  });
