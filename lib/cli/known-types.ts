import { formatDollars } from '../cost/format-dollars.ts';
import type { Cursor } from '../protocol/ports.ts';
import { allShards } from '../protocol/shards.ts';
import { BAD_MESSAGE_TYPE } from '../wire/table.ts';
import type { Output } from './output.ts';
import { NEXT_TO_NOTHING, scanCostOf } from './scan-cost.ts';
import type { System } from './system.ts';

const PAGE = 200;

/**
 * The types whose failures to look for, when the operator names none. A table that can be read for next to nothing is asked
 * for all of them; of a large one only those that unfinished jobs have right now are known. Either is said.
 */
export async function knownTypes(system: System, output: Output): Promise<string[]> {
  const cost = await scanCostOf(system);
  const seen = new Set([...(await unfinishedTypes(system)), BAD_MESSAGE_TYPE]);
  if (cost.dollars > NEXT_TO_NOTHING) {
    output.note(
      `Failures are indexed by type; looked at ${[...seen].join(', ')}. Name others with --type, or find them with 'leasehold ls --status failed --scan' (${formatDollars(cost.dollars)}).`,
    );
    return [...seen];
  }
  output.note(
    `Failures are indexed by type; read the table for the types there are (${formatDollars(cost.dollars)}). --type saves that.`,
  );
  let cursor: Cursor | undefined;
  do {
    const page = await system.inspection.scan({
      status: 'failed',
      cursor,
    });
    for (const { type } of page.rows) if (typeof type === 'string') seen.add(type);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return [...seen].sort();
}

async function unfinishedTypes(system: System): Promise<string[]> {
  const shards = allShards(system.settings.shards);
  const pages = await Promise.all(
    [...shards.running, ...shards.pending].map((partition) =>
      system.table.query({ index: 'byLease', partition, limit: PAGE }),
    ),
  );
  const types = pages.flatMap((page) => page.rows.map((row) => row.type));
  return [...new Set(types.filter((type) => typeof type === 'string'))].sort();
}
