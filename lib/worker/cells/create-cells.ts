import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getCallSites } from 'node:util';
import { libFolder, moduleExtension, thisFile } from '../../this-package.ts';
import type { Registry } from '../registry.ts';
import type { Cells } from './cells.ts';
import { type CellsOptions, forkCells } from './host/fork-cells.ts';
import { jobsModuleUrl, loadJobsModule } from './load-jobs-module.ts';
import { createNoCells } from './no-cells.ts';

/** Where handlers come from: a jobs module's path, or a registry and the program that has it, for a cell to run. */
export type Handlers =
  | { readonly jobs: string | URL }
  | { readonly registry: Registry; readonly program?: string };

/** Cells as the settings want them. */
export function createCells(handlers: Handlers, options: CellsOptions): Cells {
  const { settings, clock, telemetry } = options;
  const program = programOf(handlers);
  if (settings.isolation !== 'none' && program !== undefined) return forkCells(program, options);
  const load = async () => ('jobs' in handlers ? loadJobsModule(handlers.jobs) : handlers.registry);
  const known = 'jobs' in handlers ? undefined : handlers.registry;
  return createNoCells({ load, known, settings, clock, telemetry });
}

const CELL_MAIN = join(libFolder, 'worker', 'cells', 'cell', `cell-main${moduleExtension}`);

function programOf(handlers: Handlers): { readonly file: string; readonly jobs?: string } | undefined {
  if ('jobs' in handlers) return { file: CELL_MAIN, jobs: jobsModuleUrl(handlers.jobs).href };
  return handlers.program === undefined ? undefined : { file: handlers.program };
}

/** The file of whoever called the worker's own code; in a bundle, the bundle. */
export function callerFile(): string {
  if (!thisFile.startsWith(join(libFolder, 'this-package.'))) return thisFile;
  const library = join(libFolder, 'worker', '/');
  const callers = getCallSites().map(({ scriptName }) => scriptFile(scriptName));
  return callers.find((file) => !file.startsWith(library) && !file.startsWith('node:')) ?? thisFile;
}

const scriptFile = (name: string): string => (name.startsWith('file:') ? fileURLToPath(name) : name);
