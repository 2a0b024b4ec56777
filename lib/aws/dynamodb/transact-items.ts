import type { RowWrite } from '../../protocol/writes/row-write.ts';
import { toItem } from './attributes.ts';
import { updateExpression } from './update-expression.ts';

export const documentItems = (writes: readonly RowWrite[], tableName: string) =>
  writes.map((write) => {
    // A transaction returns no values.
    const { ReturnValues: _, ...update } = updateExpression(write, tableName);
    return { Update: update };
  });

export const transactItems = (writes: readonly RowWrite[], tableName: string) =>
  documentItems(writes, tableName).map(({ Update: update }) => ({
    Update: {
      ...update,
      Key: toItem(update.Key),
      ExpressionAttributeValues: toItem(update.ExpressionAttributeValues),
    },
  }));
