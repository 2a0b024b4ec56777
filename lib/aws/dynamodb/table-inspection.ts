import { DescribeTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { ScanCommand } from '@aws-sdk/lib-dynamodb';
import type { Cursor, IndexPage } from '../../protocol/ports.ts';
import { documentClientOf } from './client.ts';
import { answered } from './errors.ts';

export type TableInspection = ReturnType<typeof createTableInspection>;

export interface TableDescription {
  readonly status: string;
  /** Updated about every six hours. */
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

/** For operators; never on a job's path. */
export function createTableInspection(options: {
  readonly client: DynamoDBClient;
  readonly tableName: string;
}) {
  const { client, tableName: TableName } = options;
  const documents = documentClientOf(client);
  return {
    /** Eventually consistent; every row read costs its bytes, even if `status` filters it out. */
    async scan({
      cursor,
      limit,
      status,
    }: {
      readonly cursor?: Cursor;
      readonly limit?: number;
      readonly status?: string;
    }): Promise<IndexPage> {
      const command = new ScanCommand({
        TableName,
        Limit: limit,
        ExclusiveStartKey: cursor,
        ...(status === undefined ? undefined : onlyWith(status)),
      });
      const reply = await answered('Scan', documents.send(command));
      return { rows: reply.Items ?? [], cursor: reply.LastEvaluatedKey };
    },

    async describe(): Promise<TableDescription> {
      const asked = client.send(new DescribeTableCommand({ TableName }));
      const { Table: table } = await answered('DescribeTable', asked);
      return {
        status: table?.TableStatus ?? 'UNKNOWN',
        rows: table?.ItemCount ?? 0,
        bytes: table?.TableSizeBytes ?? 0,
        indexes: (table?.GlobalSecondaryIndexes ?? []).map((index) => {
          const key = (kind: string) => index.KeySchema?.find((each) => each.KeyType === kind)?.AttributeName;
          return {
            name: index.IndexName ?? '',
            partitionKey: key('HASH'),
            sortKey: key('RANGE'),
            projects: index.Projection?.NonKeyAttributes ?? [],
          };
        }),
      };
    },
  };
}
