import type { Cursor } from '../protocol/ports.ts';
import type { Place } from '../protocol/store/merged-shards.ts';
import type { Row } from '../protocol/writes/row-write.ts';
import { LEADER_KEY, mayHoldOldFailures } from '../wire/table.ts';
import type { ClientParts } from './client-parts.ts';
import { NEXT_TO_NOTHING, scanCostOf } from './scan-cost.ts';

/** In a place of a listing, where a shard of the index would be. */
export const OLD_SHARD = 'o0';

type Parts = Pick<ClientParts, 'table' | 'inspection'>;

/** The failures that version 0.1 left in no index, newest first, or why they are not told. */
interface OldFailures {
  readonly rows: readonly Row[];
  readonly untold?: string;
}

/**
 * Reads the table for them, where that costs next to nothing and no `doctor --repair` has been there since. A table that version
 * 0.1 has not seen takes one read.
 */
export async function oldFailures({ table, inspection }: Parts, from?: Place): Promise<OldFailures> {
  if (!mayHoldOldFailures(await table.read(LEADER_KEY))) return { rows: [] };
  const cost = await scanCostOf({ inspection });
  if (cost.dollars > NEXT_TO_NOTHING)
    return {
      rows: [],
      untold: `failures of version 0.1 are not listed: finding them reads about ${cost.rows} rows ($${cost.dollars.toFixed(2)}). Run 'leasehold doctor --repair --scan' once, or read them with 'leasehold ls --status failed --scan'`,
    };
  const rows: Row[] = [];
  let cursor: Cursor | undefined;
  do {
    const page = await inspection.scan({ status: 'failed', cursor });
    rows.push(...page.rows.filter((row) => row.leaseUntil === undefined && comesAfter(row, from)));
    cursor = page.cursor;
  } while (cursor !== undefined);
  return {
    rows: rows.sort((a, b) => failedAt(b) - failedAt(a) || (String(a.jobId) < String(b.jobId) ? -1 : 1)),
  };
}

function comesAfter(row: Row, from: Place | undefined): boolean {
  const at = failedAt(row);
  if (from === undefined || at < from.at) return true;
  const told = from.upTo[OLD_SHARD];
  return at === from.at && (told === undefined || String(row.jobId) > told);
}

const failedAt = (row: Row): number => (typeof row.finishedAt === 'number' ? row.finishedAt : 0);
