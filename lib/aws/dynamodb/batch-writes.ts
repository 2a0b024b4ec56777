import {
  BatchExecuteStatementCommand,
  type BatchStatementResponse,
  type DynamoDBClient,
} from '@aws-sdk/client-dynamodb';
import type { BatchResult } from '../../protocol/writes/row-write.ts';
import { asPlainJson } from '../plain-json.ts';
import { fromItem } from './attributes.ts';
import { type BatchedWrite, insertedRow } from './batch-statement.ts';
import { statementError, storeError } from './errors.ts';
import type { SingleRows } from './single-rows.ts';

/** DynamoDB accepts at most this many statements in one request. */
const MAX_STATEMENTS = 25;
/** And so many characters at once arrive well within a request's time. A single statement may have more. */
const MAX_CHARACTERS = 1024 * 1024;

/** Where the request that begins with this write ends. */
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

/** Sends one batch. What it cannot decide is decided row by row. */
export async function applyBatch(
  client: DynamoDBClient,
  rows: SingleRows,
  batch: readonly BatchedWrite[],
): Promise<BatchResult[]> {
  let responses: readonly BatchStatementResponse[];
  try {
    const Statements = batch.map(({ statement }) => statement);
    const command = new BatchExecuteStatementCommand({ Statements });
    responses =
      (await client.send(asPlainJson(command, 'DynamoDB_20120810.BatchExecuteStatement'))).Responses ?? [];
  } catch (error) {
    // Refused as a whole, so nothing is applied yet: the batch is an optimisation, never the only path.
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
  // PartiQL brings no row back; after an INSERT the row is exactly what was written.
  if (failure === undefined) return { applied: true, row: row ?? insertedRow(write) };
  switch (failure.Code) {
    case 'ConditionalCheckFailed':
      return failure.Item === undefined
        ? rows.readRefusing(write.jobId)
        : { applied: false, row: fromItem(failure.Item) };
    case 'DuplicateItem':
    // The row exists, so a claim may still hold by its other alternative: only UpdateItem can say both at once.
    case 'ValidationError':
      return rows.applySafely(write);
    default:
      return { applied: 'failed', error: statementError(write.transition, failure) };
  }
}
