import { MAX_INLINE_ROW_BYTES } from '../protocol/rows/data-pointer.ts';
import { listPrices } from '../tools/plan/prices.ts';
import { scanReadUnits } from '../tools/plan/write-units.ts';
import type { ClientParts } from './client-parts.ts';

/** Dollars below which no confirmation is needed. */
export const NEXT_TO_NOTHING = 0.01;

export interface ScanCost {
  readonly rows: number;
  readonly readUnits: number;
  readonly dollars: number;
}

/** From DynamoDB's last statistics; a local engine may not know bytes. */
export async function scanCostOf({ inspection }: Pick<ClientParts, 'inspection'>): Promise<ScanCost> {
  const { rows, bytes } = await inspection.describe();
  const readUnits = scanReadUnits(bytes > 0 ? bytes : rows * MAX_INLINE_ROW_BYTES);
  return { rows, readUnits, dollars: (readUnits * listPrices.perMillionReadUnits) / 1e6 };
}
