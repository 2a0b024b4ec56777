import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import type { BatchResult, Row, RowWrite, WriteResult } from '../../protocol/writes/row-write.ts';
import { fromItem } from './attributes.ts';
import { answered, writeError } from './errors.ts';
import { updateExpression } from './update-expression.ts';

export type SingleRows = ReturnType<typeof createSingleRows>;

export function createSingleRows(documents: DynamoDBDocumentClient, tableName: string) {
  const read = async (jobId: string): Promise<Row | undefined> => {
    const command = new GetCommand({ TableName: tableName, Key: { jobId }, ConsistentRead: true });
    return (await answered('GetItem', documents.send(command))).Item;
  };

  const apply = async (write: RowWrite): Promise<WriteResult> => {
    try {
      const reply = await documents.send(new UpdateCommand(updateExpression(write, tableName)));
      return { applied: true, row: reply.Attributes ?? {} };
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw writeError(write, error);
      // The document client leaves it marshalled, and some engines omit it.
      const row = error.Item === undefined ? await read(write.jobId) : fromItem(error.Item);
      return { applied: false, row };
    }
  };

  return {
    read,
    apply,
    applySafely: (write: RowWrite): Promise<BatchResult> => apply(write).catch(failed),
    readRefusing: (jobId: string): Promise<BatchResult> =>
      read(jobId).then((row) => ({ applied: false, row }), failed),
  };
}

const failed = (error: Error): BatchResult => ({ applied: 'failed', error });
