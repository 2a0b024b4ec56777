import { MAX_INLINE_ROW_BYTES } from '../protocol/rows/data-pointer.ts';
import { listPrices } from '../tools/plan/prices.ts';
import { scanReadUnits } from '../tools/plan/write-units.ts';
import type { ClientParts } from './client-parts.ts';

/** Up to this price, in dollars, a table is read without asking. */
export const NEXT_TO_NOTHING = 0.01;

/** The price of reading a whole table. */
export interface ScanCost {
  readonly rows: number;
  readonly readUnits: number;
  readonly dollars: number;
}

/** What reading the whole table costs, by what DynamoDB last counted. A local engine may know its rows and not their bytes. */
export async function scanCostOf({ inspection }: Pick<ClientParts, 'inspection'>): Promise<ScanCost> {
  const { rows, bytes } = await inspection.describe();
  const readUnits = scanReadUnits(bytes > 0 ? bytes : rows * MAX_INLINE_ROW_BYTES);
  return { rows, readUnits, dollars: (readUnits * listPrices.perMillionReadUnits) / 1e6 };
}
