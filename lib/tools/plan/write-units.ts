import { rowBytes } from '../../protocol/rows/row-bytes.ts';
import type { Row } from '../../protocol/writes/row-write.ts';
import { byLease, type IndexDefinition, jobsTable } from '../../wire/table.ts';

/**
 * What DynamoDB bills for a change of a row, from the row before and after: the table by the larger of the two, and every
 * index whose entry appears, disappears, changes or moves. Failed conditions are billed as if they had held.
 */

/** Bytes that one write unit covers, and one unit of an eventually consistent read. */
const WRITE_UNIT_BYTES = 1024;
const EVENTUAL_READ_UNIT_BYTES = 8192;

export interface WriteUnits {
  readonly table: number;
  readonly byLease: number;
}

export const totalUnits = ({ table, byLease }: WriteUnits): number => table + byLease;

const unitsFor = (bytes: number): number => Math.max(1, Math.ceil(bytes / WRITE_UNIT_BYTES));

/** The units of a write that turns one row into the other. */
export function writeUnits(before: Row | undefined, after: Row): WriteUnits {
  return {
    table: unitsFor(Math.max(rowBytes(after), before === undefined ? 0 : rowBytes(before))),
    byLease: indexUnits(byLease, before, after),
  };
}

function indexUnits(index: IndexDefinition, before: Row | undefined, after: Row): number {
  const was = entryIn(index, before);
  const is = entryIn(index, after);
  if (was === undefined) return is === undefined ? 0 : unitsFor(rowBytes(is));
  if (is === undefined) return unitsFor(rowBytes(was));
  const keys = [index.partitionKey.name, index.sortKey.name];
  // An entry whose key changes is deleted in one place and put in another.
  if (keys.some((key) => was[key] !== is[key])) return unitsFor(rowBytes(was)) + unitsFor(rowBytes(is));
  const isSame = JSON.stringify(was) === JSON.stringify(is);
  return isSame ? 0 : unitsFor(Math.max(rowBytes(was), rowBytes(is)));
}

/** What the index holds of a row: nothing unless the row has both keys. */
function entryIn(index: IndexDefinition, row: Row | undefined): Row | undefined {
  if (row === undefined) return undefined;
  const keys = [index.partitionKey.name, index.sortKey.name];
  if (keys.some((key) => row[key] === undefined)) return undefined;
  const names = [jobsTable.partitionKey.name, ...keys, ...index.projects];
  return Object.fromEntries(names.filter((name) => row[name] !== undefined).map((name) => [name, row[name]]));
}

/** What it costs to read a whole table once, in read units: every byte is paid for, whatever is filtered out. */
export const scanReadUnits = (bytes: number): number =>
  Math.max(1, Math.ceil(bytes / EVENTUAL_READ_UNIT_BYTES));
