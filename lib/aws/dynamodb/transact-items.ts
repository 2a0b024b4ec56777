import type { Update } from '@aws-sdk/client-dynamodb';
import type { RowWrite } from '../../protocol/writes/row-write.ts';
import { fromItem } from './attributes.ts';
import { updateExpression } from './update-expression.ts';

/** The writes as parts of a transaction that the caller sends. */
export const transactItems = (writes: readonly RowWrite[], tableName: string) =>
  writes.map((write) => {
    // A transaction answers no values.
    const { ReturnValues: _, ...update } = updateExpression(write, tableName);
    return { Update: update as Update };
  });

/** The same for the document client, whose values are plain. */
export const documentItems = (items: ReturnType<typeof transactItems>) =>
  items.map(({ Update: update }) => ({
    Update: {
      ...update,
      Key: fromItem(update.Key ?? {}),
      ExpressionAttributeValues: fromItem(update.ExpressionAttributeValues ?? {}),
    },
  }));
