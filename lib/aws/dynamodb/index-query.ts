import type { QueryCommandInput } from '@aws-sdk/client-dynamodb';
import type { IndexQuery } from '../../protocol/ports.ts';
import { byLease, byWait } from '../../wire/table.ts';
import { toItem } from './attributes.ts';

/** DynamoDB rejects a reversed range. */
export const isEmptyRange = ({
  after = Number.NEGATIVE_INFINITY,
  upTo = Number.POSITIVE_INFINITY,
}: Pick<IndexQuery, 'after' | 'upTo'>): boolean => after >= upTo;

export function queryInput(request: IndexQuery, tableName: string): QueryCommandInput {
  const index = request.index === 'byWait' ? byWait : byLease;
  const names: Record<string, string> = { '#partition': index.partitionKey.name };
  const values: Record<string, unknown> = { ':partition': request.partition };
  const conditions = ['#partition = :partition'];
  if (request.after !== undefined && request.upTo !== undefined) {
    conditions.push('#sort BETWEEN :after AND :upTo');
    // Sort keys are whole milliseconds.
    Object.assign(values, { ':after': request.after + 1, ':upTo': request.upTo });
  } else if (request.upTo !== undefined) {
    conditions.push('#sort <= :upTo');
    values[':upTo'] = request.upTo;
  } else if (request.after !== undefined) {
    conditions.push('#sort > :after');
    values[':after'] = request.after;
  }
  if (conditions.length > 1) names['#sort'] = index.sortKey.name;
  return {
    TableName: tableName,
    IndexName: index.name,
    KeyConditionExpression: conditions.join(' AND '),
    ExpressionAttributeNames: names,
    ExpressionAttributeValues: toItem(values),
    Limit: request.limit,
    ScanIndexForward: request.newestFirst !== true,
    ExclusiveStartKey: request.cursor && toItem(request.cursor),
  };
}
