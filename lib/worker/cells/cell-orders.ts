import type { Settings } from '../../settings/settings.ts';

/** Passed to a cell at its start, in the variable that marks a process as a cell. */
export interface CellOrders extends Pick<Settings, 'logLevel' | 'maxCheckpointBytes' | 'maxResultBytes'> {
  /** Absent if the program itself contains the registry. */
  readonly jobs?: string;
  readonly serviceName: string;
  readonly pulseMs: number;
  /** Folder in which one host's cells share compiled code. */
  readonly compileCache?: string;
}

/** Not a settings variable: unknown ones are refused. */
const VARIABLE = '__LEASEHOLD_CELL';

export const ordersVariable = (orders: CellOrders): Record<string, string> => ({
  [VARIABLE]: JSON.stringify(orders),
});

/** Removes the variable, so that processes started by a handler are not cells. */
export function takeOrders(): CellOrders | undefined {
  const text = process.env[VARIABLE];
  if (text === undefined || process.send === undefined) return undefined;
  delete process.env[VARIABLE];
  return JSON.parse(text) as CellOrders;
}
