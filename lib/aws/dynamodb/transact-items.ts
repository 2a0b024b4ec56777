import type { RowWrite } from '../../protocol/writes/row-write.ts';
import { toItem } from './attributes.ts';
import { updateExpression } from './update-expression.ts';

/** The writes as parts of a transaction that the caller sends by the document client. */
export const documentItems = (writes: readonly RowWrite[], tableName: string) =>
  writes.map((write) => {
    // A transaction answers no values.
    const { ReturnValues: _, ...update } = updateExpression(write, tableName);
    return { Update: update };
  });

/** The same for the plain client. */
export const transactItems = (writes: readonly RowWrite[], tableName: string) =>
  documentItems(writes, tableName).map(({ Update: update }) => ({
    Update: {
      ...update,
      Key: toItem(update.Key),
      ExpressionAttributeValues: toItem(update.ExpressionAttributeValues),
    },
  }));
