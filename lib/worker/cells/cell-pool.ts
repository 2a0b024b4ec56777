import type { Clock, Telemetry } from '../../protocol/ports.ts';
import type { Settings } from '../../settings/settings.ts';
import { type CellDeath, startCell } from './cell.ts';
import { createCellKeeper } from './cell-keeper.ts';
import type { CellLauncher } from './cell-process.ts';
import type { Cells, PayloadCheck, Suspicion } from './cells.ts';
import { createHomes, type Home, isAlive } from './homes.ts';
import { extraCells, hasRoomForSpare } from './memory.ts';
import { createReadiness } from './readiness.ts';
import { createRunQueue } from './run-queue.ts';
import { settleDeath } from './settle-death.ts';
import { createTicks, nodeTimers, type Timers, tickMsFor } from './ticks.ts';

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
  const { clock, telemetry, settings, serviceName, cells: target, memoryBytes } = options;
  const { timers = nodeTimers } = options;
  const tickMs = tickMsFor(settings);
  const hasSpare = options.spare === true && hasRoomForSpare(target, memoryBytes);
  const readiness = createReadiness(options);
  let ids = 0;
  let groups = 0;
  let isDraining = false;
  let isClosed = false;
  const gone: (() => void)[] = [];
  const homes = createHomes({
    share: Math.max(1, Math.ceil(options.concurrency / target)),
    most: target + extraCells(target, options.concurrency, memoryBytes),
    start: (home) =>
      startCell({
        id: ++ids,
        process: options.launch({
          ...{ serviceName, pulseMs: tickMs, jobs: options.jobs },
          maxCheckpointBytes: settings.maxCheckpointBytes,
          maxResultBytes: settings.maxResultBytes,
        }),
        ...{ limits: settings, clock, memoryBytes, pulseMs: tickMs, soon: timers.soon },
        onReady: (told) => (readiness.ready(told) ? assign() : home().cell.kill('closing')),
        onFreed: () => onFreed(home()),
        onDead: (death) => onDead(home(), death),
      }),
  });
  const { all, shared } = homes;
  const isReady = () => all().some((home) => home.cell.isReady());
  const suspicionOf = (jobs: number): Suspicion => ({ group: ++groups, limit: Math.ceil(jobs / 2) });
  const keeper = createCellKeeper({ clock, settings, memoryBytes, tickMs, suspicionOf });
  const queue = createRunQueue({
    ...{ clock, homes, newRun: () => ++ids, end: keeper.end },
    onWaiting: () => assign(),
  });

  const onFreed = (home: Home): void => {
    const { cell } = home;
    if (cell.busy() === 0 && isAlive(home)) {
      // Who was suspected has ended, and not by a death: the cell is like any other.
      home.suspicion = undefined;
      home.reservedFor = undefined;
      if (keeper.isWorn(home) || shared().length > target) cell.kill('closing');
    }
    if (!isAlive(home) && home.culprit !== undefined) keeper.endIfOnlyCulprit(home);
    assign();
  };

  const onDead = (home: Home, death: CellDeath): void => {
    homes.forget(home);
    for (const resolve of gone.splice(0)) resolve();
    if (!death.wasReady && !isClosed) void onUnready(death);
    if (!death.wasReady) return;
    settleDeath(home.cell, death, { telemetry, isDraining, suspicionOf });
    if (!isClosed) assign();
  };

  const onUnready = async (death: CellDeath): Promise<void> => {
    const { reason, pauseMs } = readiness.failed(death);
    if (readiness.isHopeless() && !isReady()) {
      readiness.giveUp(reason);
      queue.giveUp(reason);
    }
    await clock.sleep(pauseMs);
    assign();
  };

  /** Gives those who wait their cells, and sees to it that there are cells. */
  const assign = (): void => {
    if (isClosed) return;
    // One after the other, unless somebody waits: a cell that a crashed job is to be alone in must not share the processor
    // with the start of one that nobody needs yet.
    const isStarting = () => all().some((home) => isAlive(home) && !home.cell.isReady());
    const hasBeenReady = readiness.hasBeenReady();
    const isWell = readiness.isWell();
    const mayStart = isWell && !(hasBeenReady && isStarting());
    while (mayStart && shared().length < target) if (homes.spawn() === undefined || hasBeenReady) break;
    queue.place();
    if (!isWell && all().length === 0) homes.spawn();
    const isCalm = hasBeenReady && isWell && !isDraining && queue.isEmpty() && !isStarting();
    if (hasSpare && isCalm) homes.spawnSpare();
    tickWhileBusy();
  };

  const isWatched = (home: Home) => home.cell.busy() > 0 || home.cell.missedPulses() > 0 || !isAlive(home);
  const ticks = createTicks(timers, tickMs, () => {
    for (const home of all()) keeper.tick(home);
    queue.expire();
    assign();
  });
  const tickWhileBusy = () => ticks.onlyWhile(!queue.isEmpty() || all().some(isWatched));

  const allGone = async (which: () => Home[]): Promise<void> => {
    while (which().length > 0) await new Promise<void>((resolve) => gone.push(resolve));
  };

  assign();
  return {
    ready: () => readiness.first,
    isReady,
    isUsable: () => !isClosed && !isDraining && !readiness.isHopeless(),
    types: () => [...readiness.types.keys()],
    find: (type) => readiness.types.get(type),
    async check(type, payload) {
      if (!readiness.types.has(type)) return { kind: 'unknownType' };
      const home = homes.forCheck();
      if (home === undefined) return { kind: 'unanswered' };
      const answer = Promise.withResolvers<PayloadCheck>();
      home.cell.check(++ids, type, payload, answer.resolve);
      tickWhileBusy();
      return answer.promise;
    },
    forget(check) {
      if (check.kind !== 'accepted' || check.token === undefined) return;
      const { cell: id, check: number } = check.token;
      all()
        .find(({ cell }) => cell.id === id)
        ?.cell.forget(number);
    },
    start: queue.start,
    async quiet() {
      await allGone(() => all().filter((home) => !isAlive(home)));
      await Promise.all(all().map(({ cell }) => cell.flush()));
    },
    drain() {
      isDraining = true;
    },
    async close() {
      isClosed = true;
      for (const { cell } of all()) cell.kill('closing');
      queue.giveUp('the host closes');
      await allGone(all);
      ticks.end();
      options.onClosed?.();
    },
  };
}
