import { readFileSync } from 'node:fs';
import { url as inspectorUrl } from 'node:inspector';
import { availableParallelism, totalmem } from 'node:os';
import { readOr } from '../../describe-error.ts';

const MIB = 1024 * 1024;
const PAGE = 4096;
const LAMBDA_HOST_BYTES = 110 * MIB;
/** Measured in a 512 MB container: up to 170 MiB with a hundred jobs of 20 KB. V8 uses more where it can. @internal */
export const PROCESS_HOST_BYTES = 200 * MIB;
/** A loaded, idle cell. */
const LEAST_CELL_BYTES = 64 * MIB;
/** The rest is buffers, code and the process itself. */
const HEAP_SHARE = 0.75;

export const defaultCells = (concurrency: number): number =>
  Math.max(1, Math.min(availableParallelism(), concurrency));

/** The limit of the function, container or machine, less the host's share. */
export function memoryForCells(environment: NodeJS.ProcessEnv = process.env): number {
  const lambdaMb = Number(environment.AWS_LAMBDA_FUNCTION_MEMORY_SIZE);
  const constrained = process.constrainedMemory();
  // Without a limit, some systems report more than the machine has.
  const machine = constrained > 0 && constrained < totalmem() ? constrained : totalmem();
  const [whole, host] = lambdaMb > 0 ? [lambdaMb * MIB, LAMBDA_HOST_BYTES] : [machine, PROCESS_HOST_BYTES];
  return whole - Math.max(host, process.memoryUsage.rss());
}

export const cellMemory = (cells: number, bytes = memoryForCells()): number =>
  Math.max(LEAST_CELL_BYTES, Math.floor(bytes / cells));

/** Assumes that each new cell grows as large as the largest. */
export function roomForCells(bytes: number, cells: readonly number[]): number {
  const sizes = cells.map((size) => Math.max(LEAST_CELL_BYTES, size));
  const free = sizes.reduce((left, size) => left - size, bytes);
  return Math.max(0, Math.floor(free / Math.max(LEAST_CELL_BYTES, ...sizes)));
}

/** Omits debugger ports, heap sizes and watchers. */
export function cellExecArgv(
  hostArgv: readonly string[],
  memoryBytes: number,
  // A cell would find the debugger's port taken.
  isDebugged = inspectorUrl() !== undefined,
): string[] {
  const kept: string[] = isDebugged ? ['--inspect=0'] : [];
  for (let i = 0; i < hostArgv.length; i++) {
    const option = hostArgv[i] ?? '';
    const [name = ''] = option.split('=');
    if (!TAKES_VALUE.test(name) && !IS_KEPT.test(name)) continue;
    kept.push(option);
    if (TAKES_VALUE.test(name) && !option.includes('=')) kept.push(hostArgv[++i] ?? '');
  }
  return [...kept, `--max-old-space-size=${Math.floor((memoryBytes * HEAP_SHARE) / MIB)}`];
}

const TAKES_VALUE = /^(?:--import|--require|-r|--conditions|-C|--loader|--experimental-loader)$/;
const IS_KEPT =
  /^--(?:enable-source-maps|experimental-strip-types|experimental-transform-types|no-warnings)$/;

export function rssOf(pid: number): number | undefined {
  const statm = readOr('', () => readFileSync(`/proc/${pid}/statm`, 'latin1'));
  const pages = Number(statm.split(' ')[1]);
  return Number.isFinite(pages) ? pages * PAGE : undefined;
}
