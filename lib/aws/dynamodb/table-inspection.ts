import { DescribeTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import type { Cursor } from '../../protocol/ports.ts';
import type { Row } from '../../protocol/writes/row-write.ts';
import { documentClientOf } from './client.ts';
import { storeError } from './errors.ts';

/** Looks at the table as a whole, for operators: nothing here is on the path of a job. */
export interface TableInspection {
  /** Reads a page of the whole table, eventually consistent: costs by the bytes of every row it passes. */
  scan(request: {
    readonly cursor?: Cursor;
    readonly limit?: number;
    /** Only rows with this status are returned; the others cost the same. */
    readonly status?: string;
  }): Promise<{ readonly rows: readonly Row[]; readonly cursor?: Cursor }>;
  describe(): Promise<TableDescription>;
}

export interface TableDescription {
  readonly status: string;
  /** DynamoDB counts these about every six hours. */
  readonly rows: number;
  readonly bytes: number;
  readonly indexes: readonly {
    readonly name: string;
    readonly partitionKey?: string;
    readonly sortKey?: string;
    readonly projects: readonly string[];
  }[];
}

const onlyWith = (status: string) => ({
  FilterExpression: '#status = :status',
  ExpressionAttributeNames: { '#status': 'status' },
  ExpressionAttributeValues: { ':status': status },
});

export function createTableInspection(options: {
  readonly client: DynamoDBClient;
  readonly tableName: string;
}): TableInspection {
  const { client, tableName: TableName } = options;
  const documents = documentClientOf(client);
  return {
    async scan({ cursor, limit, status }) {
      try {
        const reply = await documents.send(
          new ScanCommand({
            TableName,
            Limit: limit,
            ExclusiveStartKey: cursor,
            ...(status === undefined ? undefined : onlyWith(status)),
          }),
        );
        return { rows: reply.Items ?? [], cursor: reply.LastEvaluatedKey };
      } catch (error) {
        throw storeError('Scan', error);
      }
    },

    async describe() {
      try {
        const { Table: table } = await client.send(new DescribeTableCommand({ TableName }));
        return {
          status: table?.TableStatus ?? 'UNKNOWN',
          rows: table?.ItemCount ?? 0,
          bytes: table?.TableSizeBytes ?? 0,
          indexes: (table?.GlobalSecondaryIndexes ?? []).map((index) => {
            const key = (kind: string) =>
              index.KeySchema?.find((each) => each.KeyType === kind)?.AttributeName;
            return {
              name: index.IndexName ?? '',
              partitionKey: key('HASH'),
              sortKey: key('RANGE'),
              projects: index.Projection?.NonKeyAttributes ?? [],
            };
          }),
        };
      } catch (error) {
        throw storeError('DescribeTable', error);
      }
    },
  };
}
