import {
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import type { BatchResult, Row, RowWrite, WriteResult } from '../../protocol/writes/row-write.ts';
import { fromItem, toItem } from './attributes.ts';
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

export function createSingleRows(client: DynamoDBClient, tableName: string): SingleRows {
  const read = async (jobId: string): Promise<Row | undefined> => {
    try {
      const reply = await client.send(
        new GetItemCommand({ TableName: tableName, Key: toItem({ jobId }), ConsistentRead: true }),
      );
      return reply.Item && fromItem(reply.Item);
    } catch (error) {
      throw storeError('GetItem', error);
    }
  };

  const apply = async (write: RowWrite): Promise<WriteResult> => {
    try {
      const reply = await client.send(new UpdateItemCommand(updateExpression(write, tableName)));
      return { applied: true, row: fromItem(reply.Attributes ?? {}) };
    } catch (error) {
      if (!(error instanceof ConditionalCheckFailedException)) throw writeError(write, error);
      // Some engines do not send the row that refused.
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
