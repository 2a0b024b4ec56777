import { type DynamoDBClient, QueryCommand } from '@aws-sdk/client-dynamodb';
import { inParallel } from '../../protocol/in-parallel.ts';
import type { Table } from '../../protocol/ports.ts';
import type { BatchResult, RowWrite } from '../../protocol/writes/row-write.ts';
import { fromItem } from './attributes.ts';
import { type BatchedWrite, batchedWrite } from './batch-statement.ts';
import { applyBatch, endOfRequest } from './batch-writes.ts';
import { documentClientOf } from './client.ts';
import { answered } from './errors.ts';
import { isEmptyRange, queryInput } from './index-query.ts';
import { readMany } from './read-many.ts';
import { createSingleRows } from './single-rows.ts';

/** Fewer writes are faster as parallel updates. */
const SMALLEST_BATCH = 3;

/** Batches run one after another, because each keeps the table busy for 25 rows. */
const SINGLES_AT_ONCE = 8;

export interface DynamoDbTableOptions {
  readonly client: DynamoDBClient;
  readonly tableName: string;
  /** False uses parallel UpdateItem, the reference. */
  readonly batches?: boolean;
}

export function createDynamoDbTable(options: DynamoDbTableOptions): Table {
  const { client, tableName, batches = true } = options;
  const documents = documentClientOf(client);
  const rows = createSingleRows(documents, tableName);
  const { read, apply } = rows;
  const sendQuery = (input: ReturnType<typeof queryInput>) =>
    answered('Query', client.send(new QueryCommand(input)));

  return {
    read,
    readMany: (jobIds) => readMany(documents, tableName, jobIds),
    apply,

    async applyMany(writes) {
      const results: BatchResult[] = new Array(writes.length);
      const { batched, single } = sortWrites(writes, batches ? tableName : undefined);
      const singles = inParallel(single, SINGLES_AT_ONCE, async (i) => {
        results[i] = await rows.applySafely(writes[i] as RowWrite);
      });
      for (let start = 0; start < batched.length; ) {
        const batch = batched.slice(start, endOfRequest(batched, start));
        const outcomes = await applyBatch(client, rows, batch);
        for (const [k, { place }] of batch.entries()) results[place] = outcomes[k] as BatchResult;
        start += batch.length;
      }
      await singles;
      return results;
    },

    async query(request) {
      if (isEmptyRange(request)) return { rows: [] };
      const reply = await sendQuery(queryInput(request, tableName));
      return {
        rows: (reply.Items ?? []).map(fromItem),
        cursor: reply.LastEvaluatedKey && fromItem(reply.LastEvaluatedKey),
      };
    },

    async count({ atMost, ...range }) {
      if (isEmptyRange(range)) return { count: 0 };
      const input = queryInput({ ...range, limit: atMost }, tableName);
      const reply = await sendQuery({ ...input, Select: 'COUNT' });
      const cursor = reply.LastEvaluatedKey && fromItem(reply.LastEvaluatedKey);
      return { count: reply.Count ?? 0, cursor };
    },
  };
}

/** Without a table name, no writes are batched. */
function sortWrites(writes: readonly RowWrite[], tableName: string | undefined) {
  const batched: (BatchedWrite & { readonly place: number })[] = [];
  const single: number[] = [];
  const seen = new Set<string>();
  for (const [place, write] of writes.entries()) {
    // DynamoDB refuses a batch that names a row twice.
    const again = seen.has(write.jobId);
    seen.add(write.jobId);
    const one = again || tableName === undefined ? undefined : batchedWrite(write, tableName);
    if (one === undefined) single.push(place);
    else batched.push({ ...one, place });
  }
  if (batched.length < SMALLEST_BATCH) single.push(...batched.splice(0).map(({ place }) => place));
  return { batched, single };
}
