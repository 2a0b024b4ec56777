import type { Clock, Telemetry } from '../../../protocol/ports.ts';
import type { Settings } from '../../../settings/settings.ts';
import type { Cells, PayloadCheck, Suspicion } from '../cells.ts';
import { type Cell, type CellDeath, startCell } from './cell.ts';
import { type CellKeeper, createCellKeeper } from './cell-keeper.ts';
import type { CellLauncher } from './cell-process.ts';
import { canServe, createHomes, type Home, type Homes, isAlive } from './homes.ts';
import { extraCells, hasRoomForSpare } from './memory.ts';
import { createReadiness, type Readiness } from './readiness.ts';
import { createRunQueue, type RunQueue } from './run-queue.ts';
import { settleDeath } from './settle-death.ts';
import { createTicks, nodeTimers, type Ticks, type Timers, tickMsFor } from './ticks.ts';

export interface CellPoolOptions {
  readonly clock: Clock;
  readonly telemetry: Telemetry;
  readonly settings: Settings;
  readonly serviceName: string;
  readonly launch: CellLauncher;
  /** The address of the jobs module; absent where the cell's program has the registry in it. */
  readonly jobs?: string;
  /** Where handlers come from, for whoever is told that they cannot be loaded. */
  readonly source: string;
  /** How many cells share the work. */
  readonly cells: number;
  /** How many jobs run at once, over all cells. */
  readonly concurrency: number;
  /** How much of it each cell may use. */
  readonly memoryBytes: number;
  /** Whether a cell beyond those is kept ready for the next death. @default false */
  readonly spare?: boolean;
  /** @default - Node's own */
  readonly timers?: Timers;
  /** When the last cell is gone. */
  onClosed?(): void;
}

/** The cells of one host. */
export function createCellPool(options: CellPoolOptions): Cells {
  const pool = new CellPool(options);
  const { readiness, queue } = pool;
  pool.assign();
  // Plain functions: tests put others in the place of some.
  return {
    ready: () => readiness.first,
    isReady: () => pool.isReady(),
    isUsable: () => pool.isUsable(),
    types: () => [...readiness.types.keys()],
    find: (type) => readiness.types.get(type),
    check: (type, payload) => pool.check(type, payload),
    forget: (check) => pool.forget(check),
    start: queue.start,
    quiet: () => pool.quiet(),
    drain: () => pool.drain(),
    close: () => pool.close(),
  };
}

class CellPool {
  readonly readiness: Readiness;
  readonly queue: RunQueue;
  readonly #options: CellPoolOptions;
  readonly #homes: Homes;
  readonly #keeper: CellKeeper;
  readonly #timers: Timers;
  readonly #ticks: Ticks;
  readonly #tickMs: number;
  readonly #hasSpare: boolean;
  /** Those who wait for the next cell to be gone. */
  readonly #gone: (() => void)[] = [];
  #ids = 0;
  #groups = 0;
  #isDraining = false;
  #isClosed = false;

  constructor(options: CellPoolOptions) {
    const { clock, settings, cells: target, concurrency, memoryBytes, timers = nodeTimers } = options;
    const tickMs = tickMsFor(settings);
    this.#options = options;
    this.#timers = timers;
    this.#tickMs = tickMs;
    this.#hasSpare = options.spare === true && hasRoomForSpare(target, memoryBytes);
    this.readiness = createReadiness(options);
    this.#homes = createHomes({
      share: Math.max(1, Math.ceil(concurrency / target)),
      most: target + extraCells(target, concurrency, memoryBytes),
      start: (home) => this.#startCell(home),
    });
    this.#keeper = createCellKeeper({
      ...{ clock, settings, memoryBytes, tickMs },
      suspicionOf: (jobs) => this.#suspicionOf(jobs),
    });
    this.queue = createRunQueue({
      ...{ clock, homes: this.#homes, newRun: () => ++this.#ids, end: this.#keeper.end },
      onWaiting: () => this.assign(),
    });
    this.#ticks = createTicks(timers, tickMs, () => this.#tick());
  }

  isReady(): boolean {
    return this.#homes.all().some((home) => home.cell.isReady());
  }

  isUsable(): boolean {
    return !this.#isClosed && !this.#isDraining && !this.readiness.isHopeless();
  }

  async check(type: string, payload: string): Promise<PayloadCheck> {
    if (!this.readiness.types.has(type)) return { kind: 'unknownType' };
    const home = this.#homes.forCheck();
    if (home === undefined) return { kind: 'unanswered' };
    const answer = Promise.withResolvers<PayloadCheck>();
    home.cell.check(++this.#ids, type, payload, answer.resolve);
    this.#tickWhileBusy();
    return answer.promise;
  }

  forget(check: PayloadCheck): void {
    if (check.kind !== 'accepted' || check.token === undefined) return;
    const { cell: id, check: number } = check.token;
    const home = this.#homes.all().find(({ cell }) => cell.id === id);
    home?.cell.forget(number);
  }

  async quiet(): Promise<void> {
    await this.#allGone(() => this.#homes.all().filter((home) => !isAlive(home)));
    await Promise.all(this.#homes.all().map(({ cell }) => cell.flush()));
  }

  drain(): void {
    this.#isDraining = true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { cell } of this.#homes.all()) cell.kill('closing');
    this.queue.giveUp('the host closes');
    await this.#allGone(() => this.#homes.all());
    this.#ticks.end();
    this.#options.onClosed?.();
  }

  /** Gives those who wait their cells, and sees to it that there are cells. */
  assign(): void {
    if (this.#isClosed) return;
    const { cells: target } = this.#options;
    const homes = this.#homes;
    // One after the other, unless somebody waits: a cell that a crashed job is to be alone in must not share the processor
    // with the start of one that nobody needs yet.
    const isStarting = () => homes.all().some((home) => isAlive(home) && !home.cell.isReady());
    const hasBeenReady = this.readiness.hasBeenReady();
    const isWell = this.readiness.isWell();
    const mayStart = isWell && !(hasBeenReady && isStarting());
    while (mayStart && homes.shared().length < target) if (homes.spawn() === undefined || hasBeenReady) break;
    this.queue.place();
    if (!isWell && homes.all().length === 0) homes.spawn();
    const isCalm = hasBeenReady && isWell && !this.#isDraining && this.queue.isEmpty() && !isStarting();
    if (this.#hasSpare && isCalm) homes.spawnSpare();
    this.#tickWhileBusy();
  }

  #startCell(home: () => Home): Cell {
    const { launch, jobs, settings, clock, serviceName, memoryBytes } = this.#options;
    const { maxCheckpointBytes, maxResultBytes } = settings;
    const pulseMs = this.#tickMs;
    return startCell({
      id: ++this.#ids,
      process: launch({ serviceName, pulseMs, jobs, maxCheckpointBytes, maxResultBytes }),
      ...{ limits: settings, clock, memoryBytes, pulseMs, soon: this.#timers.soon },
      onReady: (told) => (this.readiness.ready(told) ? this.assign() : home().cell.kill('closing')),
      onFreed: () => this.#onFreed(home()),
      onDead: (death) => this.#onDead(home(), death),
    });
  }

  #onFreed(home: Home): void {
    const { cell } = home;
    if (cell.busy() === 0 && isAlive(home)) {
      // Who was suspected has ended, and not by a death: the cell is like any other.
      home.suspicion = undefined;
      home.reservedFor = undefined;
      // Only for others that can take its place: one that starts may never be ready, and one that is late may be stuck.
      const others = this.#homes.shared().filter((other) => other !== home && canServe(other));
      const isTooMany = others.length >= this.#options.cells;
      if (this.#keeper.isWorn(home) || isTooMany) cell.kill('closing');
    }
    if (!isAlive(home) && home.culprit !== undefined) this.#keeper.endIfOnlyCulprit(home);
    this.assign();
  }

  #onDead(home: Home, death: CellDeath): void {
    this.#homes.forget(home);
    for (const resolve of this.#gone.splice(0)) resolve();
    if (!death.wasReady && !this.#isClosed) void this.#onUnready(death);
    if (!death.wasReady) return;
    settleDeath(home.cell, death, {
      ...{ telemetry: this.#options.telemetry, isDraining: this.#isDraining },
      suspicionOf: (jobs) => this.#suspicionOf(jobs),
    });
    this.assign();
  }

  async #onUnready(death: CellDeath): Promise<void> {
    const { reason, pauseMs } = this.readiness.failed(death);
    if (this.readiness.isHopeless() && !this.isReady()) {
      this.readiness.giveUp(reason);
      this.queue.giveUp(reason);
    }
    await this.#options.clock.sleep(pauseMs);
    this.assign();
  }

  #suspicionOf(jobs: number): Suspicion {
    return { group: ++this.#groups, limit: Math.ceil(jobs / 2) };
  }

  #tick(): void {
    for (const home of this.#homes.all()) this.#keeper.tick(home);
    this.queue.expire();
    this.assign();
  }

  #tickWhileBusy(): void {
    this.#ticks.onlyWhile(!this.queue.isEmpty() || this.#homes.all().some(isWatched));
  }

  async #allGone(which: () => Home[]): Promise<void> {
    while (which().length > 0) await new Promise<void>((resolve) => this.#gone.push(resolve));
  }
}

const isWatched = (home: Home): boolean =>
  home.cell.busy() > 0 || home.cell.missedPulses() > 0 || !isAlive(home);
