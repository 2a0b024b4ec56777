import { mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { readOr } from '../../describe-error.ts';
import type { Cells, CellsOptions } from '../cells.ts';
import { createCellPool } from './cell-pool.ts';
import { launchCell } from './cell-process.ts';
import { startGuard } from './guard.ts';
import { cellExecArgv, cellMemory, memoryForCells } from './memory.ts';

const MIB = 1024 * 1024;

export function forkCells(
  program: { readonly file: string; readonly jobs?: string },
  options: CellsOptions,
): Cells {
  const { cellMemoryMb } = options.settings;
  const memoryBytes = cellMemoryMb > 0 ? cellMemoryMb * MIB : cellMemory(options.cells);
  const compileCache = program.jobs === undefined || isLambda() ? undefined : createCompileCache();
  const guard = isLastResort() ? undefined : startGuard(compileCache);
  const execArgv = cellExecArgv(process.execArgv, memoryBytes);
  return createCellPool({
    ...options,
    launch: (orders) => launchCell({ file: program.file, execArgv, compileCache }, orders, guard),
    source: program.jobs ?? program.file,
    jobs: program.jobs,
    memoryBytes,
    memoryForCells,
    processors: availableParallelism(),
    onClosed() {
      guard?.close();
      if (compileCache !== undefined) rmSync(compileCache, { recursive: true, force: true });
    },
  });
}

/** On Lambda, or as a container's first process, everything ends with the host. */
const isLastResort = (): boolean =>
  process.pid === 1 || (isLambda() && process.env[WANTS_GUARD] === undefined);
const isLambda = (): boolean => process.env.AWS_LAMBDA_RUNTIME_API !== undefined;
/** Set by emulations of Lambda. */
const WANTS_GUARD = '__LEASEHOLD_GUARD';

/** Removed with the host; without it, every cell compiles again. */
const createCompileCache = (): string | undefined =>
  readOr(undefined, () => mkdtempSync(join(tmpdir(), 'leasehold-cells-')));
