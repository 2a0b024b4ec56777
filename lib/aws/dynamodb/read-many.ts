import { setTimeout } from 'node:timers/promises';
import { BatchGetCommand, type DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { ThrottledError } from '../../protocol/errors.ts';
import type { Row } from '../../protocol/writes/row-write.ts';
import { storeError } from './errors.ts';

/** DynamoDB limit. */
const MAX_READS = 100;
/** After a request of which DynamoDB read nothing. */
const FIRST_WAIT_MS = 50;
const LONGEST_WAIT_MS = 400;

/** Consistent, in the given order; repeats unprocessed keys. */
export async function readMany(
  documents: DynamoDBDocumentClient,
  tableName: string,
  jobIds: readonly string[],
  sleep: (ms: number) => Promise<unknown> = setTimeout,
): Promise<(Row | undefined)[]> {
  const found = new Map<string, Row>();
  let left = [...new Set(jobIds)];
  try {
    for (let wait = FIRST_WAIT_MS; left.length > 0; ) {
      const now = left.slice(0, MAX_READS);
      const Keys = now.map((jobId) => ({ jobId }));
      const reply = await documents.send(
        new BatchGetCommand({ RequestItems: { [tableName]: { Keys, ConsistentRead: true } } }),
      );
      for (const row of reply.Responses?.[tableName] ?? []) found.set(String(row.jobId), row);
      const unprocessed = reply.UnprocessedKeys?.[tableName]?.Keys ?? [];
      left = [...unprocessed.map((key) => String(key.jobId)), ...left.slice(MAX_READS)];
      if (unprocessed.length < now.length) continue;
      if (wait > LONGEST_WAIT_MS) throw new ThrottledError('BatchGetItem', undefined);
      await sleep(wait);
      wait *= 2;
    }
  } catch (error) {
    throw storeError('BatchGetItem', error);
  }
  return jobIds.map((jobId) => found.get(jobId));
}
