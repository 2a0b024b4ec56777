import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { getCallSites } from 'node:util';
import type { Clock, Telemetry } from '../../protocol/ports.ts';
import type { Settings } from '../../settings/settings.ts';
import { libFolder, moduleExtension, thisFile } from '../../this-package.ts';
import type { Registry } from '../registry.ts';
import { type CellPoolOptions, createCellPool } from './cell-pool.ts';
import { createLauncher } from './cell-process.ts';
import type { Cells } from './cells.ts';
import { noGuard, startGuard } from './guard.ts';
import { jobsModuleUrl, loadJobsModule } from './load-jobs-module.ts';
import { cellExecArgv, cellMemory } from './memory.ts';
import { createNoCells } from './no-cells.ts';

/** Where handlers come from: a jobs module's path, or a registry and the program that has it, for a cell to run. */
export type Handlers =
  | { readonly jobs: string | URL }
  | { readonly registry: Registry; readonly program?: string };

/** Cells as the settings want them. */
export function createCells(
  handlers: Handlers,
  options: {
    readonly clock: Clock;
    readonly telemetry: Telemetry;
    readonly settings: Settings;
    readonly serviceName: string;
    readonly cells: number;
    readonly concurrency: number;
    readonly memoryBytes?: number;
    /** Whether a cell beyond those is kept ready for the next death. */
    readonly spare?: boolean;
  },
): Cells {
  const { settings, clock, telemetry } = options;
  const program = programOf(handlers);
  if (settings.isolation === 'none' || program === undefined) {
    const load = async () => ('jobs' in handlers ? loadJobsModule(handlers.jobs) : handlers.registry);
    const known = 'jobs' in handlers ? undefined : handlers.registry;
    return createNoCells({ load, known, settings, clock, telemetry });
  }
  return createCellPool({ ...options, ...forkedCells(program, options) });
}

const MIB = 1024 * 1024;

/** What a pool of child processes needs. */
function forkedCells(
  program: { readonly file: string; readonly jobs?: string },
  options: {
    readonly settings: Settings;
    readonly cells: number;
    readonly memoryBytes?: number;
  },
): Pick<CellPoolOptions, 'launch' | 'jobs' | 'source' | 'memoryBytes' | 'onClosed'> {
  const { cellMemoryMb } = options.settings;
  const memoryBytes =
    options.memoryBytes ?? (cellMemoryMb > 0 ? cellMemoryMb * MIB : cellMemory(options.cells));
  const guard = isLastResort() ? noGuard : startGuard();
  const execArgv = cellExecArgv(process.execArgv, memoryBytes);
  return {
    launch: createLauncher({ file: program.file, execArgv }, guard),
    source: program.jobs ?? program.file,
    ...{ jobs: program.jobs, memoryBytes, onClosed: () => guard.close() },
  };
}

const CELL_MAIN = join(libFolder, 'worker', 'cells', `cell-main${moduleExtension}`);

function programOf(handlers: Handlers): { readonly file: string; readonly jobs?: string } | undefined {
  if ('jobs' in handlers) return { file: CELL_MAIN, jobs: jobsModuleUrl(handlers.jobs).href };
  return handlers.program === undefined ? undefined : { file: handlers.program };
}

/** Where the host's end is the end of everything around it: Lambda (but not a local one), or a container's first process. */
const isLastResort = (): boolean =>
  process.pid === 1 ||
  (process.env.AWS_LAMBDA_RUNTIME_API !== undefined && process.env[WANTS_GUARD] === undefined);
/** Set where Lambda is only played. */
const WANTS_GUARD = '__LEASEHOLD_GUARD';

/** The file of whoever called the worker's own code; in a bundle, the bundle. */
export function callerFile(): string {
  if (!thisFile.startsWith(join(libFolder, 'this-package.'))) return thisFile;
  const library = join(libFolder, 'worker', '/');
  const callers = getCallSites().map(({ scriptName }) => scriptFile(scriptName));
  return callers.find((file) => !file.startsWith(library) && !file.startsWith('node:')) ?? thisFile;
}

const scriptFile = (name: string): string => (name.startsWith('file:') ? fileURLToPath(name) : name);
