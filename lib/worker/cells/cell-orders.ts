/** What a host tells a cell before it starts, in the one variable by which a process knows that it is a cell. */
export interface CellOrders {
  /** The jobs module's address; absent where the program itself has the registry. */
  readonly jobs?: string;
  readonly serviceName: string;
  readonly pulseMs: number;
  readonly maxCheckpointBytes: number;
  readonly maxResultBytes: number;
  /** A folder where cells of one host leave what was compiled, for those that come after them. */
  readonly compileCache?: string;
}

/** Not one of the settings' variables, of which an unknown one is refused. */
const VARIABLE = '__LEASEHOLD_CELL';

export const ordersVariable = (orders: CellOrders): Record<string, string> => ({
  [VARIABLE]: JSON.stringify(orders),
});

/** The orders of this process, if it is a cell. They are taken: what a handler starts is no cell. */
export function takeOrders(): CellOrders | undefined {
  const text = process.env[VARIABLE];
  if (text === undefined || process.send === undefined) return undefined;
  delete process.env[VARIABLE];
  return JSON.parse(text) as CellOrders;
}
