import {
  BatchExecuteStatementCommand,
  ConditionalCheckFailedException,
  type DynamoDBClient,
  GetItemCommand,
  QueryCommand,
  type QueryCommandInput,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { inParallel } from '../../protocol/in-parallel.ts';
import type { IndexQuery, Table } from '../../protocol/ports.ts';
import type { BatchResult, Row, RowWrite, WriteResult } from '../../protocol/writes/row-write.ts';
import { byFailure, byLease } from '../../wire/table.ts';
import { fromItem, toItem } from './attributes.ts';
import { type BatchStatement, batchStatement, insertedRow } from './batch-statement.ts';
import { statementError, storeError, writeError } from './errors.ts';
import { updateExpression } from './update-expression.ts';

/** DynamoDB accepts at most this many statements in one request. */
export const MAX_STATEMENTS = 25;

/** From here on a batch is cheaper than single updates: below, they run in parallel and answer sooner. */
const SMALLEST_BATCH = 3;

/** Single updates under way at once. Batches follow each other: one keeps the table busy for 25 rows, and others use it too. */
const SINGLES_AT_ONCE = 8;

export interface DynamoDbTableOptions {
  readonly client: DynamoDBClient;
  readonly tableName: string;
  /** How `applyMany` writes: in batches of 25, or by parallel UpdateItem, which is the reference. */
  readonly batches?: boolean;
}

/** The jobs table on DynamoDB. */
export function createDynamoDbTable(options: DynamoDbTableOptions): Table {
  const { client, tableName, batches = true } = options;

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

  const applySafely = async (write: RowWrite): Promise<BatchResult> => {
    try {
      return await apply(write);
    } catch (error) {
      return { applied: 'failed', error: error as Error };
    }
  };

  /** The row that refused a statement; without it a refusal cannot be told from an own success. */
  const readSafely = async (jobId: string): Promise<BatchResult> => {
    try {
      return { applied: false, row: await read(jobId) };
    } catch (error) {
      return { applied: 'failed', error: error as Error };
    }
  };

  return {
    apply,
    read,

    async applyMany(writes) {
      const results: BatchResult[] = new Array(writes.length);
      const seen = new Set<string>();
      const statements = writes.map((write) => {
        // A batch that names a row twice is refused whole, so only the first write to each goes into one.
        const again = seen.has(write.jobId);
        seen.add(write.jobId);
        return batches && !again ? batchStatement(write, tableName) : undefined;
      });
      const batched = indexesWhere(statements, (s) => s !== undefined);
      const single = indexesWhere(statements, (s) => s === undefined);
      if (batched.length < SMALLEST_BATCH) single.push(...batched.splice(0));
      const singles = inParallel(single, SINGLES_AT_ONCE, async (i) => {
        results[i] = await applySafely(writes[i] as RowWrite);
      });
      for (let start = 0; start < batched.length; start += MAX_STATEMENTS) {
        const group = batched.slice(start, start + MAX_STATEMENTS);
        const outcomes = await applyBatch(
          group.map((i) => writes[i] as RowWrite),
          group.map((i) => statements[i] as BatchStatement),
        );
        for (const [k, i] of group.entries()) results[i] = outcomes[k] as BatchResult;
      }
      await singles;
      return results;
    },

    async query(request) {
      if (isEmptyRange(request)) return { rows: [] };
      try {
        const reply = await client.send(new QueryCommand(queryInput(request, tableName)));
        return {
          rows: (reply.Items ?? []).map(fromItem),
          cursor: reply.LastEvaluatedKey && fromItem(reply.LastEvaluatedKey),
        };
      } catch (error) {
        throw storeError('Query', error);
      }
    },

    async count({ index = 'byLease', atMost, ...range }) {
      if (isEmptyRange(range)) return { count: 0, complete: true };
      const input = queryInput({ ...range, index, limit: atMost }, tableName);
      try {
        const reply = await client.send(new QueryCommand({ ...input, Select: 'COUNT' }));
        const cursor = reply.LastEvaluatedKey && fromItem(reply.LastEvaluatedKey);
        return { count: reply.Count ?? 0, complete: cursor === undefined, cursor };
      } catch (error) {
        throw storeError('Query', error);
      }
    },
  };

  async function applyBatch(
    writes: readonly RowWrite[],
    statements: readonly BatchStatement[],
  ): Promise<BatchResult[]> {
    let responses: Awaited<ReturnType<typeof sendBatch>>;
    try {
      responses = await sendBatch(statements);
    } catch (error) {
      // Refused as a whole, so nothing is applied yet: the batch is an optimisation, never the only path.
      if (error instanceof Error && error.name === 'ValidationException')
        return Promise.all(writes.map(applySafely));
      const failure = storeError('BatchExecuteStatement', error);
      return writes.map(() => ({ applied: 'failed', error: failure }));
    }
    return Promise.all(writes.map((write, i) => verdictOf(write, responses[i])));
  }

  async function sendBatch(statements: readonly BatchStatement[]) {
    const reply = await client.send(new BatchExecuteStatementCommand({ Statements: [...statements] }));
    return reply.Responses ?? [];
  }

  async function verdictOf(
    write: RowWrite,
    response: Awaited<ReturnType<typeof sendBatch>>[number] | undefined,
  ): Promise<BatchResult> {
    if (response === undefined) return applySafely(write);
    const failure = response.Error;
    // PartiQL brings no row back; after an INSERT the row is exactly what was written.
    if (failure === undefined) return { applied: true, row: insertedRow(write) };
    switch (failure.Code) {
      case 'ConditionalCheckFailed':
        return failure.Item === undefined
          ? readSafely(write.jobId)
          : { applied: false, row: fromItem(failure.Item) };
      case 'DuplicateItem':
      // The row exists, so a claim may still hold by its other alternative: only UpdateItem can say both at once.
      case 'ValidationError':
        return applySafely(write);
      default:
        return { applied: 'failed', error: statementError(write.transition, failure) };
    }
  }
}

/** DynamoDB refuses a range whose ends are in the wrong order, rather than finding nothing in it. */
const isEmptyRange = ({ after, upTo }: Pick<IndexQuery, 'after' | 'upTo'>): boolean =>
  after !== undefined && upTo !== undefined && after >= upTo;

function queryInput(request: IndexQuery, tableName: string): QueryCommandInput {
  const index = request.index === 'byLease' ? byLease : byFailure;
  const names: Record<string, string> = { '#partition': index.partitionKey.name };
  const values: Record<string, unknown> = { ':partition': request.partition };
  const conditions = ['#partition = :partition'];
  if (request.after !== undefined && request.upTo !== undefined) {
    conditions.push('#sort BETWEEN :after AND :upTo');
    // Sort keys are whole milliseconds, so "above" is "from the next one on".
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

const indexesWhere = <T>(values: readonly T[], test: (value: T) => boolean): number[] =>
  values.flatMap((value, i) => (test(value) ? [i] : []));
