import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock, Telemetry } from '../../../protocol/ports.ts';
import type { Settings } from '../../../settings/settings.ts';
import type { Cells } from '../cells.ts';
import { createCellPool } from './cell-pool.ts';
import { createLauncher } from './cell-process.ts';
import { noGuard, startGuard } from './guard.ts';
import { cellExecArgv, cellMemory } from './memory.ts';

/** What cells are made with. */
export interface CellsOptions {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly settings: Settings;
  readonly serviceName: string;
  readonly cells: number;
  readonly concurrency: number;
  /** Whether a cell beyond those is kept ready for the next death. */
  readonly spare?: boolean;
}

const MIB = 1024 * 1024;

/** Cells that are child processes, which run the given program. */
export function forkCells(
  program: { readonly file: string; readonly jobs?: string },
  options: CellsOptions,
): Cells {
  const { cellMemoryMb } = options.settings;
  const memoryBytes = cellMemoryMb > 0 ? cellMemoryMb * MIB : cellMemory(options.cells);
  const compileCache = program.jobs === undefined || isLambda() ? undefined : createCompileCache();
  const guard = isLastResort() ? noGuard : startGuard(compileCache);
  const execArgv = cellExecArgv(process.execArgv, memoryBytes);
  return createCellPool({
    ...options,
    launch: createLauncher({ file: program.file, execArgv, compileCache }, guard),
    source: program.jobs ?? program.file,
    ...{ jobs: program.jobs, memoryBytes },
    onClosed() {
      guard.close();
      if (compileCache !== undefined) rmSync(compileCache, { recursive: true, force: true });
    },
  });
}

/** Where the host's end is the end of everything around it: Lambda (but not a local one), or a container's first process. */
const isLastResort = (): boolean =>
  process.pid === 1 || (isLambda() && process.env[WANTS_GUARD] === undefined);
const isLambda = (): boolean => process.env.AWS_LAMBDA_RUNTIME_API !== undefined;
/** Set where Lambda is only played. */
const WANTS_GUARD = '__LEASEHOLD_GUARD';

/** A folder that only this user can read, gone with the host. Without one each cell compiles everything again. */
function createCompileCache(): string | undefined {
  try {
    return mkdtempSync(join(tmpdir(), 'leasehold-cells-'));
  } catch {
    return undefined;
  }
}
