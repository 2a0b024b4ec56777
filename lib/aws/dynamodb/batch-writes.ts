import {
  BatchExecuteStatementCommand,
  type BatchStatementResponse,
  type DynamoDBClient,
} from '@aws-sdk/client-dynamodb';
import { rowAfter } from '../../protocol/writes/evaluate.ts';
import type { BatchResult } from '../../protocol/writes/row-write.ts';
import { fromItem } from './attributes.ts';
import type { BatchedWrite } from './batch-statement.ts';
import { statementError, storeError } from './errors.ts';
import type { SingleRows } from './single-rows.ts';

/** DynamoDB limit. */
const MAX_STATEMENTS = 25;
/** Small enough to arrive within the request timeout; a single statement may be larger. */
const MAX_CHARACTERS = 1024 * 1024;

export function endOfRequest(batched: readonly BatchedWrite[], start: number): number {
  const most = Math.min(batched.length, start + MAX_STATEMENTS);
  let characters = 0;
  for (let end = start; end < most; end++) {
    characters += charactersOf(batched[end] as BatchedWrite);
    if (end > start && characters > MAX_CHARACTERS) return end;
  }
  return most;
}

const charactersOf = ({ statement }: BatchedWrite): number => {
  let sum = 0;
  for (const { S } of statement.Parameters) sum += S?.length ?? 0;
  return sum;
};

/** Falls back to single rows where a batch is inconclusive. */
export async function applyBatch(
  client: DynamoDBClient,
  rows: SingleRows,
  batch: readonly BatchedWrite[],
): Promise<BatchResult[]> {
  let responses: readonly BatchStatementResponse[];
  try {
    const Statements = batch.map(({ statement }) => statement);
    responses = (await client.send(new BatchExecuteStatementCommand({ Statements }))).Responses ?? [];
  } catch (error) {
    // A batch refused as a whole applied nothing.
    if (error instanceof Error && error.name === 'ValidationException')
      return Promise.all(batch.map(({ write }) => rows.applySafely(write)));
    const failure = storeError('BatchExecuteStatement', error);
    return batch.map(() => ({ applied: 'failed', error: failure }));
  }
  return Promise.all(batch.map((each, i) => outcomeOf(each, responses[i], rows)));
}

async function outcomeOf(
  { write, row }: BatchedWrite,
  response: BatchStatementResponse | undefined,
  rows: SingleRows,
): Promise<BatchResult> {
  if (response === undefined) return rows.applySafely(write);
  const failure = response.Error;
  // PartiQL returns no row; after an INSERT it is the row written.
  if (failure === undefined) return { applied: true, row: row ?? rowAfter(write, undefined) };
  switch (failure.Code) {
    case 'ConditionalCheckFailed':
      return failure.Item === undefined
        ? rows.readRefusing(write.jobId)
        : { applied: false, row: fromItem(failure.Item) };
    case 'DuplicateItem':
    // The row exists, but another alternative of the condition may hold, which only UpdateItem can check.
    case 'ValidationError':
      return rows.applySafely(write);
    default:
      return { applied: 'failed', error: statementError(write.transition, failure) };
  }
}
