import type { Table } from '../protocol/ports.ts';
import { parseReaperRow } from '../protocol/store/reaper-row.ts';
import { LEADER_KEY } from '../wire/table.ts';

/** Undefined before the first reaper ran, and where the number was edited to one that no reaper sweeps. */
export const sweptShards = async (table: Pick<Table, 'read'>): Promise<number | undefined> =>
  parseReaperRow(await table.read(LEADER_KEY)).shards || undefined;
