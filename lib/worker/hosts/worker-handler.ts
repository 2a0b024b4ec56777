import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getCallSites } from 'node:util';
import { libFolder, thisFile } from '../../this-package.ts';
import type { SqsHandler } from '../../wire/lambda.ts';
import { runCell } from '../cells/cell/run-cell.ts';
import { takeOrders } from '../cells/cell-orders.ts';
import { createCells } from '../cells/create-cells.ts';
import type { Registry } from '../registry.ts';
import { composeFunction, createLambdaHost } from './lambda-host.ts';

/** The handler of a custom worker Lambda. Call it at the module's top level: its cell runs the same module. */
export function createWorkerHandler(registry: Registry): SqsHandler {
  const orders = takeOrders();
  if (orders !== undefined) {
    // Resolves after the module's top level has run to its end.
    runCell(orders, () => new Promise((resolve) => setImmediate(() => resolve(registry))));
    return notAHost;
  }
  const handlers = { registry, program: callerFile() };
  return createLambdaHost(composeFunction((given) => createCells(handlers, given))).handler;
}

const notAHost: SqsHandler = async () => {
  throw new Error('this process is a cell; it takes no messages');
};

function callerFile(): string {
  if (!thisFile.startsWith(join(libFolder, 'this-package.'))) return thisFile;
  const library = join(libFolder, 'worker', '/');
  const callers = getCallSites().map(({ scriptName }) => scriptFile(scriptName));
  return callers.find((file) => !file.startsWith(library) && !file.startsWith('node:')) ?? thisFile;
}

const scriptFile = (name: string): string => (name.startsWith('file:') ? fileURLToPath(name) : name);
