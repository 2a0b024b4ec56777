import { ConditionalCheckFailedException } from '@aws-sdk/client-dynamodb';
import { type DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb';
import type { BatchResult, Row, RowWrite, WriteResult } from '../../protocol/writes/row-write.ts';
import { fromItem } from './attributes.ts';
import { storeError, writeError } from './errors.ts';
import { updateExpression } from './update-expression.ts';

/** Reads and writes one row at a time. */
export interface SingleRows {
  read(jobId: string): Promise<Row | undefined>;
  apply(write: RowWrite): Promise<WriteResult>;
  /** As `apply`; a failure is an outcome, for one write among many. */
  applySafely(write: RowWrite): Promise<BatchResult>;
  /** The row that refused a statement; without it a refusal cannot be told from an own success. */
  readRefusing(jobId: string): Promise<BatchResult>;
}

export function createSingleRows(documents: DynamoDBDocumentClient, tableName: string): SingleRows {
  const read = async (jobId: string): Promise<Row | undefined> => {
    try {
      const reply = await documents.send(
        new GetCommand({ TableName: tableName, Key: { jobId }, ConsistentRead: true }),
      );
      return reply.Item;
    } catch (error) {
      throw storeError('GetItem', error);
    }
  };

  const apply = async (write: RowWrite): Promise<WriteResult> => {
    try {
      const reply = await documents.send(new UpdateCommand(updateExpression(write, tableName)));
      return { applied: true, row: reply.Attributes ?? {} };
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw writeError(write, error);
      // The document client leaves an error's row as the wire has it; some engines do not send it.
      const row = error.Item === undefined ? await read(write.jobId) : fromItem(error.Item);
      return { applied: false, row };
    }
  };

  return {
    read,
    apply,
    applySafely: (write) => apply(write).catch(failed),
    readRefusing: (jobId) => read(jobId).then((row): BatchResult => ({ applied: false, row }), failed),
  };
}

const failed = (error: Error): BatchResult => ({ applied: 'failed', error });
