import { readFileSync } from 'node:fs';
import { url as inspectorUrl } from 'node:inspector';
import { availableParallelism, totalmem } from 'node:os';

const MIB = 1024 * 1024;
const PAGE = 4096;
/** What a host needs for itself. */
const HOST_BYTES = 110 * MIB;
const LEAST_CELL_BYTES = 64 * MIB;
/** The heap's share of a cell's memory: the rest is buffers, code and the process itself. */
const HEAP_SHARE = 0.75;

/** How many cells a process host has, unless it is told. */
export const defaultCells = (concurrency: number): number =>
  Math.max(1, Math.min(availableParallelism(), concurrency));

/** How much memory each cell may use: an even share of what there is, less the host's. */
export function cellMemory(cells: number, environment: NodeJS.ProcessEnv = process.env): number {
  const lambdaMb = Number(environment.AWS_LAMBDA_FUNCTION_MEMORY_SIZE);
  const constrained = process.constrainedMemory();
  // Without a limit, some systems tell a number beyond all memory there is.
  const machine = constrained > 0 && constrained < totalmem() ? constrained : totalmem();
  const whole = lambdaMb > 0 ? lambdaMb * MIB : machine;
  return Math.max(LEAST_CELL_BYTES, Math.floor((whole - HOST_BYTES) / cells));
}

/** What a cell takes that has loaded its module and does little. */
const IDLE_CELL_BYTES = 64 * MIB;
const LEAST_EXTRA_CELLS = 8;

/**
 * Cells beside the usual number, for suspects and for work that would wait behind a handler that computes: as many as there
 * can be suspects, and as memory has room for while they do little. One that does more is ended for its memory, as any other.
 */
export function extraCells(cells: number, concurrency: number, memoryBytes: number): number {
  const room = Math.floor((cells * (memoryBytes - IDLE_CELL_BYTES)) / IDLE_CELL_BYTES);
  return Math.max(LEAST_EXTRA_CELLS, Math.min(concurrency, room) + 1);
}

/** Whether one more cell, which does nothing until another has died, takes no memory that the others need. */
export const hasRoomForSpare = (cells: number, memoryBytes: number): boolean =>
  cells * memoryBytes >= (cells + 1) * IDLE_CELL_BYTES;

/** Options of the host that make sense in a cell; a debugger's port, a heap's size and a watcher do not. */
export function cellExecArgv(
  hostArgv: readonly string[],
  memoryBytes: number,
  // However the host came to be debugged: a cell that took over its port would find it taken.
  isDebugged = inspectorUrl() !== undefined,
): string[] {
  const kept: string[] = isDebugged ? ['--inspect=0'] : [];
  for (let i = 0; i < hostArgv.length; i++) {
    const option = hostArgv[i] ?? '';
    const [name = ''] = option.split('=');
    if (!KEPT.includes(name)) continue;
    kept.push(option);
    if (TAKES_VALUE.includes(name) && !option.includes('=')) kept.push(hostArgv[++i] ?? '');
  }
  return [...kept, `--max-old-space-size=${Math.floor((memoryBytes * HEAP_SHARE) / MIB)}`];
}

const TAKES_VALUE = [
  '--import',
  '--require',
  '-r',
  '--conditions',
  '-C',
  '--loader',
  '--experimental-loader',
];
const KEPT = [
  ...TAKES_VALUE,
  '--enable-source-maps',
  '--experimental-strip-types',
  '--experimental-transform-types',
  '--no-warnings',
];

/** The memory that a process has now, where the system tells. */
export function rssOf(pid: number): number | undefined {
  try {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1]);
    return Number.isFinite(pages) ? pages * PAGE : undefined;
  } catch {
    return undefined;
  }
}
