import type { Table } from '../protocol/ports.ts';
import { parseReaperRow } from '../protocol/store/reaper-row.ts';
import { LEADER_KEY } from '../wire/table.ts';

/** Undefined before the first reaper ran, and for an invalid hand-edited number. */
export const sweptShards = async (table: Pick<Table, 'read'>): Promise<number | undefined> =>
  parseReaperRow(await table.read(LEADER_KEY)).shards || undefined;
