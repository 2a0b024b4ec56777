import { pathToFileURL } from 'node:url';
import { settingsFromEnvironment } from '../../settings/environment.ts';
import type { SqsHandler } from '../../wire/lambda.ts';
import type { Cells, CellsOptions } from '../cells/cells.ts';
import { forkCells } from '../cells/host/fork-cells.ts';
import { createLambdaHost } from './lambda-host.ts';

/** Host of a bundled worker: loads user code only in the cell, unless the settings say otherwise. */
export async function startBundledHost(cell: string): Promise<SqsHandler> {
  const fork = (options: CellsOptions): Cells => forkCells({ file: cell }, options);
  const isApart = settingsFromEnvironment(process.env).isolation !== 'none';
  const { handler, ready } = createLambdaHost(isApart ? fork : await cellsBeside(cell));
  await ready;
  return handler;
}

const cellsBeside = async (cell: string): Promise<(options: CellsOptions) => Cells> =>
  (await import(pathToFileURL(cell).href)).createCells;
