import type { SqsHandler } from '../../wire/lambda.ts';
import { runCell } from '../cells/cell/run-cell.ts';
import { takeOrders } from '../cells/cell-orders.ts';
import { callerFile, createCells } from '../cells/create-cells.ts';
import type { Registry } from '../registry.ts';
import { createLambdaHost, type LambdaHostOptions } from './lambda-host.ts';

type WorkerHandlerOptions = LambdaHostOptions & {
  /** The file that a cell runs: the one that makes this call. @default - found by itself */
  readonly program?: string;
};

/**
 * The handler of a worker Lambda of your own: claims the jobs of its batch, and runs them in a cell. Create it once, at the top
 * level of your function's module: the cell is a second process of that same module, in which this call never returns a host.
 */
export function createWorkerHandler(registry: Registry, options: WorkerHandlerOptions = {}): SqsHandler {
  const orders = takeOrders();
  if (orders !== undefined) {
    // When the module's top level has ended: what comes after this call is part of loading it.
    runCell(orders, () => new Promise((resolve) => setImmediate(() => resolve(registry))));
    return notAHost;
  }
  const { program = callerFile() } = options;
  return createLambdaHost((given) => createCells({ registry, program }, given), options).handler;
}

/** What the module exports in its second process, where no batch ever arrives. */
const notAHost: SqsHandler = async () => {
  throw new Error('this process is a cell; it takes no messages');
};
