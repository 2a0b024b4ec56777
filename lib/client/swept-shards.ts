import type { Table } from '../protocol/ports.ts';
import { LEADER_KEY } from '../wire/table.ts';

/** The number of shards that sweeps cover, from the reaper's own row; undefined before the first reaper ran. */
export async function sweptShards(table: Pick<Table, 'read'>): Promise<number | undefined> {
  const shards = (await table.read(LEADER_KEY))?.shards;
  return typeof shards === 'number' && shards >= 1 ? shards : undefined;
}
