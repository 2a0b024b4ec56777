import type { CellOrders } from '../cell-orders.ts';
import type { Cells, CellsOptions, Work } from '../cells.ts';
import { type Cell, type CellDeath, createCell } from './cell.ts';
import type { CellProcess } from './cell-process.ts';
import { standsOut } from './health.ts';
import { roomForCells } from './memory.ts';
import { cellFor, cellsWanted, fits, hasMarked } from './placement.ts';
import { createReadiness } from './readiness.ts';
import { createRunQueue } from './run-queue.ts';

export interface CellPoolOptions extends CellsOptions {
  readonly launch: (orders: CellOrders) => CellProcess;
  /** Absent if the cell's program contains the registry. */
  readonly jobs?: string;
  readonly source: string;
  readonly processors: number;
  readonly memoryBytes: number;
  readonly memoryForCells: () => number;
  /** @default 35 s */
  readonly loadWithinMs?: number;
  readonly timers?: Timers;
  onClosed?(): void;
}

export interface Timers {
  /** Skips ticks missed while the host was suspended. */
  every(ms: number, run: () => void): () => void;
  defer(run: () => void): void;
}

const nodeTimers: Timers = {
  every(ms, run) {
    const timer = setInterval(run, ms);
    return () => clearInterval(timer);
  },
  defer: (run) => void setImmediate(run),
};

const TICK_MS = 250;
const LEAST_TICK_MS = 20;
const TICKS_PER_STALL = 8;
/** Jobs isolated after one death need two. */
const LEAST_EXTRA_CELLS = 2;

export function createCellPool(options: CellPoolOptions): Cells {
  const { clock, telemetry, settings, cells: target, concurrency, timers = nodeTimers } = options;
  const tickMs = Math.max(
    LEAST_TICK_MS,
    Math.min(TICK_MS, Math.floor(settings.maxStallMs / TICKS_PER_STALL)),
  );
  const share = Math.max(1, Math.ceil(concurrency / target));
  const readiness = createReadiness(options);
  const queue = createRunQueue(clock, () => assign());
  const cells = new Set<Cell>();
  /** Started ahead, because starting a cell takes long. */
  let spare: Cell | undefined;
  const onGone: (() => void)[] = [];
  let ids = 0;
  let stopTicks: (() => void) | undefined;
  let isDraining = false;
  let isClosed = false;

  const count = (is: (cell: Cell) => boolean): number => {
    let found = 0;
    for (const cell of cells) if (is(cell)) found += 1;
    return found;
  };
  const isReady = () => count((cell) => cell.isReady()) > 0;
  const isUsable = () => !isClosed && !isDraining && !readiness.isHopeless();
  const starting = () => count((cell) => !cell.isEnding() && !cell.isReady());
  const isShared = (cell: Cell): boolean =>
    !cell.isEnding() && !cell.isRetired() && cell !== spare && !hasMarked(cell);
  const room = () =>
    roomForCells(
      options.memoryForCells(),
      [...cells].map((cell) => cell.memory()),
    );

  const goneWhile = async (isSo: () => boolean): Promise<void> => {
    while (isSo()) await new Promise<void>((resolve) => onGone.push(resolve));
  };

  const tick = (): void => {
    // A copy, because ticks end and start cells.
    for (const cell of [...cells]) cell.tick();
    queue.expire();
    assign();
    keepSpare();
  };
  const tickWhile = (isNeeded: boolean): void => {
    if (isNeeded) stopTicks ??= timers.every(tickMs, tick);
    else stopTicks = void stopTicks?.();
  };

  const assign = (): void => {
    if (isClosed) return;
    // One at a time unless jobs wait, so that an isolated job does not share the processor with a start.
    const hasBeenReady = readiness.hasBeenReady();
    const isWell = readiness.isWell();
    const mayStart = isWell && !(hasBeenReady && starting() > 0);
    while (mayStart && count(isShared) < target) if (!spawn() || hasBeenReady) break;
    queue.place(placeFor);
    const wanted = Math.max(cellsWanted(queue.jobs()), isWell || cells.size > 0 ? 0 : 1);
    for (let missing = wanted - starting(); missing > 0; missing--) if (!spawn()) break;
    tickWhile(queue.jobs().length > 0 || count((cell) => cell.needsTicks()) > 0);
  };

  const keepSpare = (): void => {
    const isCalm = readiness.hasBeenReady() && readiness.isWell() && isUsable();
    if (!options.spare || !isCalm || spare !== undefined) return;
    if (queue.jobs().length === 0 && starting() === 0 && room() > 0) spare = spawn();
  };

  const placeFor = (work: Work): Cell | undefined => {
    const found = cellFor(cells, work, share, spare);
    if (found !== undefined || spare === undefined || !fits(spare, work, share)) return found;
    const chosen = spare;
    spare = undefined;
    return chosen;
  };

  const spawn = (): Cell | undefined => {
    const extra = cells.size - target;
    if (extra >= LEAST_EXTRA_CELLS && (extra > concurrency || room() === 0)) return undefined;
    try {
      const cell = startCell();
      cells.add(cell);
      return cell;
    } catch (error) {
      // A full disk or a lack of memory must not end the host.
      void onUnready(`its process could not be started: ${error instanceof Error ? error.message : error}`);
      return undefined;
    }
  };

  const startCell = (): Cell => {
    const { launch, jobs, serviceName } = options;
    const { logLevel, maxCheckpointBytes, maxResultBytes } = settings;
    const cell: Cell = createCell({
      ...options,
      id: ++ids,
      pulseMs: tickMs,
      defer: timers.defer,
      process: launch({ serviceName, logLevel, pulseMs: tickMs, jobs, maxCheckpointBytes, maxResultBytes }),
      onReady(types) {
        if (!readiness.ready(types)) return cell.kill('closing');
        assign();
        keepSpare();
      },
      onFreed: () => onFreed(cell),
      standsOut: () =>
        standsOut(
          cell.recentEnds(),
          [...cells].filter((other) => other !== cell).map((other) => other.recentEnds()),
        ),
      onDead: (death) => onDead(cell, death),
    });
    return cell;
  };

  const onFreed = (cell: Cell): void => {
    const isIdle = () => cell.runs.size === 0 && !cell.isEnding();
    if (isIdle() && cell.isWorn()) cell.kill('closing');
    assign();
    if (!isIdle()) return;
    // Counts only cells that can serve now; others may be stuck or never become ready.
    if (count((other) => other !== cell && isShared(other) && other.canServe()) < target) return;
    cell.kill('closing');
    assign();
  };

  const onDead = (cell: Cell, death: CellDeath): void => {
    cells.delete(cell);
    if (spare === cell) spare = undefined;
    for (const resolve of onGone.splice(0)) resolve();
    const { wasReady, hasThrown, cause, ageMs } = death;
    const after = `a cell ended after ${Math.round(ageMs)} ms, before it was ready`;
    if (!wasReady && !isClosed) void onUnready(hasThrown ? cause : `${after}: ${cause}`);
    if (!wasReady) return;
    settle(cell, death);
    assign();
    keepSpare();
  };

  const settle = (cell: Cell, { runs, cause, killedFor }: CellDeath): void => {
    if (runs.length === 0) return;
    telemetry.warn('a cell died', { cell: cell.id, pid: cell.pid, cause, jobs: runs.length });
    const isPlanned = isDraining || killedFor === 'closing';
    if (!isPlanned) {
      telemetry.count('CellsDied');
      telemetry.count('JobsCrashed', runs.length);
    }
    const isExplained = isPlanned || killedFor === 'ignored signal';
    const wasAlone = runs.length === 1 && cell.used() === 1;
    const crashedAlone = !isExplained && wasAlone && runs.every(({ started }) => started);
    const parts = Math.max(2, Math.min(2 * options.processors, room()));
    const maxInCell = isExplained ? undefined : Math.ceil(runs.length / parts);
    for (const run of runs) {
      run.work.lease.listen(undefined);
      run.settle({ kind: 'died', cause, crashedAlone, maxInCell });
    }
  };

  const onUnready = async (reason: string): Promise<void> => {
    const pauseMs = readiness.failed(reason);
    if (readiness.isHopeless() && !isReady()) {
      readiness.giveUp(reason);
      queue.giveUp(reason);
    }
    await clock.sleep(pauseMs);
    assign();
  };

  assign();
  return {
    ready: () => readiness.first,
    isReady,
    isUsable,
    types: () => [...readiness.types.keys()],
    find: (type) => readiness.types.get(type),
    start: queue.start,
    async quiet() {
      await goneWhile(() => count((cell) => cell.isEnding()) > 0);
      await Promise.all([...cells].map((cell) => cell.flush()));
    },
    drain() {
      isDraining = true;
    },
    async close() {
      isClosed = true;
      for (const cell of cells) cell.kill('closing');
      queue.giveUp('the host closes');
      await goneWhile(() => cells.size > 0);
      tickWhile(false);
      options.onClosed?.();
    },
  };
}
