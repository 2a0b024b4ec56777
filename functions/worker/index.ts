import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { settingsFromEnvironment } from '../../lib/settings/environment.ts';
import type { Cells, CellsOptions } from '../../lib/worker/cells/cells.ts';
import { forkCells } from '../../lib/worker/cells/host/fork-cells.ts';
import { composeFunction, createLambdaHost } from '../../lib/worker/hosts/lambda-host.ts';

/** The bundle with the user's code, which this process loads only with `isolation: 'none'`. */
const CELL = join(import.meta.dirname, 'cell.mjs');
const isIsolated = settingsFromEnvironment(process.env).isolation !== 'none';
const createCells: (options: CellsOptions) => Cells = isIsolated
  ? (options) => forkCells({ file: CELL }, options)
  : (await import(pathToFileURL(CELL).href)).createCells;
const host = createLambdaHost(composeFunction(createCells));
await host.ready;

export const { handler } = host;
