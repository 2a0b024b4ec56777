import { join } from 'node:path';
import { libFolder, moduleExtension } from '../../this-package.ts';
import { jobsModuleUrl, loadJobsModule } from '../load-jobs-module.ts';
import type { Registry } from '../registry.ts';
import type { Cells, CellsOptions } from './cells.ts';
import { forkCells } from './host/fork-cells.ts';
import { createNoCells } from './no-cells.ts';

export type Handlers =
  | { readonly jobs: string | URL }
  | { readonly registry: Registry; readonly program?: string };

export function createCells(handlers: Handlers, options: CellsOptions): Cells {
  const { settings, clock, telemetry } = options;
  const program = programOf(handlers);
  if (settings.isolation !== 'none' && program !== undefined) return forkCells(program, options);
  const registry = 'jobs' in handlers ? () => loadJobsModule(handlers.jobs) : handlers.registry;
  return createNoCells({ registry, settings, clock, telemetry });
}

const CELL_MAIN = join(libFolder, 'worker', 'cells', 'cell', `cell-main${moduleExtension}`);

function programOf(handlers: Handlers): { readonly file: string; readonly jobs?: string } | undefined {
  if ('jobs' in handlers) return { file: CELL_MAIN, jobs: jobsModuleUrl(handlers.jobs).href };
  return handlers.program === undefined ? undefined : { file: handlers.program };
}
