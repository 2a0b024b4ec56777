import { rowBytes } from '../../protocol/rows/row-bytes.ts';
import type { Row } from '../../protocol/writes/row-write.ts';
import { byLease, type IndexDefinition, jobsTable } from '../../wire/table.ts';

/** DynamoDB bills the larger of the old and new row, plus each index entry that changes. */

const WRITE_UNIT_BYTES = 1024;
const EVENTUAL_READ_UNIT_BYTES = 8192;

export interface WriteUnits {
  readonly table: number;
  readonly byLease: number;
}

export const totalUnits = ({ table, byLease }: WriteUnits): number => table + byLease;

const unitsFor = (bytes: number): number => Math.max(1, Math.ceil(bytes / WRITE_UNIT_BYTES));

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
  // A changed key deletes one entry and puts another.
  if (keys.some((key) => was[key] !== is[key])) return unitsFor(rowBytes(was)) + unitsFor(rowBytes(is));
  const isSame = JSON.stringify(was) === JSON.stringify(is);
  return isSame ? 0 : unitsFor(Math.max(rowBytes(was), rowBytes(is)));
}

function entryIn(index: IndexDefinition, row: Row | undefined): Row | undefined {
  if (row === undefined) return undefined;
  const keys = [index.partitionKey.name, index.sortKey.name];
  if (keys.some((key) => row[key] === undefined)) return undefined;
  const names = [jobsTable.partitionKey.name, ...keys, ...index.projects];
  return Object.fromEntries(names.filter((name) => row[name] !== undefined).map((name) => [name, row[name]]));
}

/** A scan is billed for every byte it reads, whatever the filter drops. */
export const scanReadUnits = (bytes: number): number =>
  Math.max(1, Math.ceil(bytes / EVENTUAL_READ_UNIT_BYTES));
