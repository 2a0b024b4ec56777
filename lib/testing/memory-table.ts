import type { IndexQuery, Table } from '../protocol/ports.ts';
import { clauseHolds, rowAfter } from '../protocol/writes/evaluate.ts';
import type { BatchResult, Row, RowWrite, WriteResult } from '../protocol/writes/row-write.ts';
import { byLease, byWait, type IndexDefinition } from '../wire/table.ts';

/** An in-memory table with DynamoDB's conditions. */
export interface MemoryTable extends Table {
  rows(): readonly Row[];
  /** Stores a row unchecked, for tests of hand-edited rows. */
  put(row: Row): void;
}

/** Creates an in-memory table. */
export function createMemoryTable(): MemoryTable {
  const rows = new Map<string, Row>();

  const apply = (write: RowWrite): WriteResult => {
    const row = rows.get(write.jobId);
    if (!write.when.some((all) => all.every((clause) => clauseHolds(clause, row))))
      return { applied: false, row };
    const written = rowAfter(write, row);
    rows.set(write.jobId, written);
    return { applied: true, row: written };
  };

  return {
    rows: () => [...rows.values()],
    put: (row) => void rows.set(String(row.jobId), row),
    apply: async (write) => apply(write),
    applyMany: async (writes): Promise<BatchResult[]> =>
      writes.map((write) => {
        try {
          return apply(write);
        } catch (error) {
          return { applied: 'failed', error: error as Error };
        }
      }),
    read: async (jobId) => rows.get(jobId),
    readMany: async (jobIds) => jobIds.map((jobId) => rows.get(jobId)),
    query: async (request) => pageOf([...rows.values()], request),
    async count({ atMost, ...range }) {
      const { rows: counted, cursor } = pageOf([...rows.values()], { ...range, limit: atMost });
      return { count: counted.length, cursor };
    },
  };
}

/** @internal */
export function pageOf(
  rows: readonly Row[],
  request: IndexQuery,
): { rows: Row[]; cursor?: { jobId: string } } {
  const index: IndexDefinition = request.index === 'byWait' ? byWait : byLease;
  const key = (row: Row) => row[index.sortKey.name] as number;
  const direction = request.newestFirst === true ? -1 : 1;
  const { partition, after = Number.NEGATIVE_INFINITY, upTo = Number.POSITIVE_INFINITY } = request;
  const entries = rows
    .filter((row) => {
      const at = row[index.sortKey.name];
      return row[index.partitionKey.name] === partition && typeof at === 'number' && at > after && at <= upTo;
    })
    .sort((a, b) => direction * (key(a) - key(b) || order(String(a.jobId), String(b.jobId))));
  const start =
    request.cursor === undefined ? 0 : startAfter(entries, request.cursor, index.sortKey.name, direction);
  const page = entries.slice(start, start + request.limit);
  const last = page.at(-1);
  // DynamoDB returns a cursor with every full page.
  const full = last !== undefined && page.length === request.limit;
  return {
    rows: page.map((row) => projected(row, index)),
    cursor: full ? { jobId: String(last.jobId), [index.sortKey.name]: key(last) } : undefined,
  };
}

/** Only projected attributes, as on DynamoDB. */
function projected(row: Row, { partitionKey, sortKey, projects }: IndexDefinition): Row {
  const carried: Record<string, unknown> = {};
  const carry = (name: string) => {
    if (row[name] !== undefined) carried[name] = row[name];
  };
  carry('jobId');
  carry(partitionKey.name);
  carry(sortKey.name);
  projects.forEach(carry);
  return carried;
}

const order = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

function startAfter(
  entries: readonly Row[],
  cursor: Readonly<Record<string, unknown>>,
  sortKey: string,
  direction: number,
): number {
  const key = (row: Row) => row[sortKey] as number;
  const at = Number(cursor[sortKey]);
  const index = entries.findIndex(
    (row) =>
      direction * (key(row) - at) > 0 ||
      (key(row) === at && direction * order(String(row.jobId), String(cursor.jobId)) > 0),
  );
  return index < 0 ? entries.length : index;
}
