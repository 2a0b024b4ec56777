import type { CellOrders } from '../cell-orders.ts';
import type { Cells, CellsOptions, Run, Work } from '../cells.ts';
import { Cell, type CellDeath } from './cell.ts';
import type { CellProcess } from './cell-process.ts';
import { standsOut } from './health.ts';
import { roomForCells } from './memory.ts';
import { cellFor, cellsWanted, fits, hasMarked } from './placement.ts';
import { Readiness } from './readiness.ts';
import { RunQueue } from './run-queue.ts';
import { nodeTimers, type Timers, tickMsFor } from './ticks.ts';

export interface CellPoolOptions extends CellsOptions {
  /** Throws if the process cannot be started. */
  readonly launch: (orders: CellOrders) => CellProcess;
  /** Absent if the cell's program contains the registry. */
  readonly jobs?: string;
  /** For errors about loading. */
  readonly source: string;
  readonly processors: number;
  readonly memoryBytes: number;
  readonly memoryForCells: () => number;
  /** @default 35 s */
  readonly loadWithinMs?: number;
  readonly timers?: Timers;
  /** Called when the last cell is gone. */
  onClosed?(): void;
}

/** Jobs isolated after one death need two. */
const LEAST_EXTRA_CELLS = 2;

/** The cells of one host. Public functions are fields, because tests replace some in copies. */
export class CellPool implements Cells {
  readonly #options: CellPoolOptions;
  readonly #readiness: Readiness;
  readonly #queue: RunQueue;
  readonly #timers: Timers;
  readonly #tickMs: number;
  readonly #share: number;
  readonly #cells = new Set<Cell>();
  /** Ready for the next death, because starting a cell takes long. */
  #spare: Cell | undefined;
  readonly #gone: (() => void)[] = [];
  #ids = 0;
  #stopTicks: (() => void) | undefined;
  #isDraining = false;
  #isClosed = false;

  constructor(options: CellPoolOptions) {
    const { clock, settings, cells, concurrency, timers = nodeTimers } = options;
    this.#options = options;
    this.#timers = timers;
    this.#tickMs = tickMsFor(settings);
    this.#share = Math.max(1, Math.ceil(concurrency / cells));
    this.#readiness = new Readiness(options);
    this.#queue = new RunQueue(clock, () => this.#assign());
    this.#assign();
  }

  readonly ready = (): Promise<void> => this.#readiness.first;
  readonly isReady = (): boolean => this.#some((cell) => cell.isReady());
  readonly isUsable = (): boolean => !this.#isClosed && !this.#isDraining && !this.#readiness.isHopeless();
  readonly types = (): readonly string[] => [...this.#readiness.types.keys()];
  readonly find: Cells['find'] = (type) => this.#readiness.types.get(type);
  readonly start = (work: Work): Run => this.#queue.start(work);

  readonly quiet = async (): Promise<void> => {
    await this.#goneWhile(() => this.#some((cell) => cell.isEnding()));
    await Promise.all([...this.#cells].map((cell) => cell.flush()));
  };

  readonly drain = (): void => {
    this.#isDraining = true;
  };

  readonly close = async (): Promise<void> => {
    this.#isClosed = true;
    for (const cell of this.#cells) cell.kill('closing');
    this.#queue.giveUp('the host closes');
    await this.#goneWhile(() => this.#cells.size > 0);
    this.#tickWhile(false);
    this.#options.onClosed?.();
  };

  /** Places waiting runs and starts cells for the rest. */
  #assign(): void {
    if (this.#isClosed) return;
    const { cells: target } = this.#options;
    // One at a time unless jobs wait, so that an isolated job does not share the processor with a needless start.
    const hasBeenReady = this.#readiness.hasBeenReady();
    const isWell = this.#readiness.isWell();
    const mayStart = isWell && !(hasBeenReady && this.#starting() > 0);
    while (mayStart && this.#count(this.#isShared) < target) if (!this.#spawn() || hasBeenReady) break;
    this.#queue.place((work) => this.#cellFor(work));
    const wanted = Math.max(cellsWanted(this.#queue.jobs()), isWell || this.#cells.size > 0 ? 0 : 1);
    for (let missing = wanted - this.#starting(); missing > 0; missing--) if (!this.#spawn()) break;
    this.#tickWhile(this.#queue.jobs().length > 0 || this.#some((cell) => cell.needsTicks()));
  }

  #keepSpare(): void {
    const isCalm = this.#readiness.hasBeenReady() && this.#readiness.isWell() && this.isUsable();
    if (!this.#options.spare || !isCalm || this.#spare !== undefined) return;
    if (this.#queue.jobs().length === 0 && this.#starting() === 0 && this.#room() > 0)
      this.#spare = this.#spawn();
  }

  #cellFor(work: Work): Cell | undefined {
    const spare = this.#spare;
    const found = cellFor(this.#cells, work, this.#share, spare);
    if (found !== undefined || spare === undefined || !fits(spare, work, this.#share)) return found;
    this.#spare = undefined;
    return spare;
  }

  /** Takes jobs that are not isolated. */
  readonly #isShared = (cell: Cell): boolean =>
    !cell.isEnding() && !cell.isRetired() && cell !== this.#spare && !hasMarked(cell);

  /** Undefined if there are too many or the start failed. */
  #spawn(): Cell | undefined {
    const { cells: target, concurrency } = this.#options;
    const extra = this.#cells.size - target;
    if (extra >= LEAST_EXTRA_CELLS && (extra > concurrency || this.#room() === 0)) return undefined;
    try {
      const cell = this.#startCell();
      this.#cells.add(cell);
      return cell;
    } catch (error) {
      // A full disk or a lack of memory must not end the host.
      void this.#onUnready(
        `its process could not be started: ${error instanceof Error ? error.message : error}`,
      );
      return undefined;
    }
  }

  #startCell(): Cell {
    const { launch, jobs, settings, serviceName } = this.#options;
    const { logLevel, maxCheckpointBytes, maxResultBytes } = settings;
    const pulseMs = this.#tickMs;
    const cell: Cell = new Cell({
      ...{ ...this.#options, id: ++this.#ids, pulseMs, defer: this.#timers.defer },
      process: launch({ serviceName, logLevel, pulseMs, jobs, maxCheckpointBytes, maxResultBytes }),
      onReady: (told) => {
        if (!this.#readiness.ready(told)) return cell.kill('closing');
        this.#assign();
        this.#keepSpare();
      },
      onFreed: () => this.#onFreed(cell),
      standsOut: () =>
        standsOut(
          cell.health,
          [...this.#cells].filter((other) => other !== cell).map(({ health }) => health),
        ),
      onDead: (death) => this.#onDead(cell, death),
    });
    return cell;
  }

  #onFreed(cell: Cell): void {
    const isIdle = () => cell.runs.size === 0 && !cell.isEnding();
    if (isIdle() && cell.isWorn()) cell.kill('closing');
    this.#assign();
    if (!isIdle()) return;
    // Counts only cells that can serve now: others may never be ready, or be stuck.
    const others = this.#count((other) => other !== cell && this.#isShared(other) && other.canServe());
    if (others < this.#options.cells) return;
    cell.kill('closing');
    this.#assign();
  }

  #onDead(cell: Cell, death: CellDeath): void {
    this.#cells.delete(cell);
    if (this.#spare === cell) this.#spare = undefined;
    for (const resolve of this.#gone.splice(0)) resolve();
    const { wasReady, hasThrown, cause, ageMs } = death;
    const after = `a cell ended after ${Math.round(ageMs)} ms, before it was ready`;
    if (!wasReady && !this.#isClosed) void this.#onUnready(hasThrown ? cause : `${after}: ${cause}`);
    if (!wasReady) return;
    this.#settle(cell, death);
    this.#assign();
    this.#keepSpare();
  }

  #settle(cell: Cell, { runs, cause, killedFor }: CellDeath): void {
    if (runs.length === 0) return;
    const { telemetry } = this.#options;
    telemetry.warn('a cell died', { cell: cell.id, pid: cell.pid, cause, jobs: runs.length });
    const isPlanned = this.#isDraining || killedFor === 'closing';
    if (!isPlanned) {
      telemetry.count('CellsDied');
      telemetry.count('JobsCrashed', runs.length);
    }
    const isExplained = isPlanned || killedFor === 'ignored signal';
    const wasAlone = runs.length === 1 && cell.used() === 1;
    const crashedAlone = !isExplained && wasAlone && runs.every(({ started }) => started);
    const maxInCell = isExplained ? undefined : this.#mostTogether(runs.length);
    for (const run of runs) {
      run.work.lease.listen(undefined);
      run.settle({ kind: 'died', cause, crashedAlone, maxInCell });
    }
  }

  #mostTogether(jobs: number): number {
    return Math.ceil(jobs / Math.max(2, Math.min(2 * this.#options.processors, this.#room())));
  }

  #room(): number {
    return roomForCells(
      this.#options.memoryForCells(),
      [...this.#cells].map((cell) => cell.memory()),
    );
  }

  async #onUnready(reason: string): Promise<void> {
    const pauseMs = this.#readiness.failed(reason);
    if (this.#readiness.isHopeless() && !this.isReady()) {
      this.#readiness.giveUp(reason);
      this.#queue.giveUp(reason);
    }
    await this.#options.clock.sleep(pauseMs);
    this.#assign();
  }

  #tickWhile(isNeeded: boolean): void {
    if (isNeeded) this.#stopTicks ??= this.#timers.every(this.#tickMs, () => this.#tick());
    else this.#stopTicks = void this.#stopTicks?.();
  }

  #tick(): void {
    // A copy, because ticks end and start cells.
    for (const cell of [...this.#cells]) cell.tick();
    this.#queue.expire();
    this.#assign();
    this.#keepSpare();
  }

  #starting(): number {
    return this.#count((cell) => !cell.isEnding() && !cell.isReady());
  }

  #count(is: (cell: Cell) => boolean): number {
    let count = 0;
    for (const cell of this.#cells) if (is(cell)) count += 1;
    return count;
  }

  #some(is: (cell: Cell) => boolean): boolean {
    return this.#count(is) > 0;
  }

  async #goneWhile(isSo: () => boolean): Promise<void> {
    while (isSo()) await new Promise<void>((resolve) => this.#gone.push(resolve));
  }
}
