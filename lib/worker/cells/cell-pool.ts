import type { Clock, Telemetry } from '../../protocol/ports.ts';
import type { Settings } from '../../settings/settings.ts';
import type { JobOptions } from '../define-job.ts';
import { checkTypes } from '../registry.ts';
import { type CellDeath, startCell } from './cell.ts';
import { createCellKeeper } from './cell-keeper.ts';
import type { CellLauncher } from './cell-process.ts';
import type { Cells, PayloadCheck, Suspicion } from './cells.ts';
import { createHomes, type Home, isAlive } from './homes.ts';
import { JobsModuleError } from './jobs-module-error.ts';
import { judgeDeath } from './judge-death.ts';
import { extraCells, hasRoomForSpare } from './memory.ts';
import { createRunQueue } from './run-queue.ts';

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

/** What a pool does besides waiting for its cells. @internal */
export interface Timers {
  /** Runs again and again; returns how to end that. Time in which the host did not run is not made up for. */
  every(ms: number, run: () => void): () => void;
  soon(run: () => void): void;
}

const nodeTimers: Timers = {
  every(ms, run) {
    const timer = setInterval(run, ms);
    return () => clearInterval(timer);
  },
  soon: (run) => void setImmediate(run),
};

const TICK_MS = 250;
const LEAST_TICK_MS = 20;
/** A stall is measured to within this share of it. */
const TICKS_PER_STALL = 8;
/** Cells that die before they are ready while none is: then the jobs module is to blame. */
const TRIES = 3;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;

/** The cells of one host. */
export function createCellPool(options: CellPoolOptions): Cells {
  const { clock, telemetry, settings, serviceName, cells: target, memoryBytes } = options;
  const { timers = nodeTimers } = options;
  const tickMs = Math.max(
    LEAST_TICK_MS,
    Math.min(TICK_MS, Math.floor(settings.maxStallMs / TICKS_PER_STALL)),
  );
  const hasSpare = options.spare === true && hasRoomForSpare(target, memoryBytes);
  const types = new Map<string, JobOptions>();
  const becameReady = Promise.withResolvers<void>();
  becameReady.promise.catch(() => {});
  let ids = 0;
  let groups = 0;
  let unready = 0;
  let hasBeenReady = false;
  let isDraining = false;
  let isClosed = false;
  let stopTicking: (() => void) | undefined;
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
        onReady: (told) => onReady(home(), told),
        onFreed: () => onFreed(home()),
        onDead: (death) => onDead(home(), death),
      }),
  });
  const { all, shared } = homes;
  const suspicionOf = (jobs: number): Suspicion => ({ group: ++groups, limit: Math.ceil(jobs / 2) });
  const keeper = createCellKeeper({ clock, settings, memoryBytes, tickMs, suspicionOf });
  const queue = createRunQueue({
    ...{ clock, homes, newRun: () => ++ids, end: keeper.end },
    onWaiting: () => assign(),
  });

  const isWatched = (home: Home) => home.cell.busy() > 0 || home.cell.missedPulses() > 0 || !isAlive(home);
  const busy = () => !queue.isEmpty() || all().some(isWatched);

  const onReady = (home: Home, told: readonly ({ readonly type: string } & JobOptions)[]): void => {
    try {
      checkTypes(told, settings);
    } catch (error) {
      telemetry.error('the job types contradict the settings', error);
      becameReady.reject(error);
      home.cell.kill('closing');
      return;
    }
    types.clear();
    for (const { type, ...own } of told) types.set(type, own);
    unready = 0;
    hasBeenReady = true;
    becameReady.resolve();
    assign();
  };

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
    tellOfDeath(home, death);
    if (!isClosed) assign();
  };

  const tellOfDeath = ({ cell }: Home, death: CellDeath): void => {
    const { runs, checks, cause } = death;
    const { forNobody, isToBlame, suspicion } = judgeDeath(death, {
      used: cell.used(),
      isDraining,
      suspicionOf,
    });
    if (runs.length > 0)
      telemetry.warn('a cell died', { cell: cell.id, pid: cell.pid, cause, jobs: runs.length });
    if (runs.length > 0 && !forNobody) {
      telemetry.count('CellsDied');
      telemetry.count('JobsCrashed', runs.length);
    }
    for (const run of runs) {
      run.work.lease.listen(undefined);
      run.settle({ kind: 'died', cause, isToBlame, suspicion });
    }
    for (const { settle } of checks) settle({ kind: 'unanswered', suspicion });
  };

  const onUnready = async ({ unloadable, cause }: CellDeath): Promise<void> => {
    unready += 1;
    const reason = unloadable ?? `a cell ended before it was ready: ${cause}`;
    telemetry.count('CellsUnready');
    telemetry.error('no cell can be started', new Error(reason), { tries: unready });
    if (unready >= TRIES && !all().some((home) => home.cell.isReady())) {
      if (!hasBeenReady) becameReady.reject(new JobsModuleError(options.source, reason));
      queue.giveUp(reason);
    }
    await clock.sleep(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (unready - 1)));
    assign();
  };

  /** Gives those who wait their cells, and sees to it that there are cells. */
  const assign = (): void => {
    if (isClosed) return;
    // One after the other, unless somebody waits: a cell that a crashed job is to be alone in must not share the processor
    // with the start of one that nobody needs yet.
    const isStarting = () => all().some((home) => isAlive(home) && !home.cell.isReady());
    const mayStart = unready === 0 && !(hasBeenReady && isStarting());
    while (mayStart && shared().length < target) if (homes.spawn() === undefined || hasBeenReady) break;
    queue.place();
    if (unready > 0 && all().length === 0) homes.spawn();
    const isCalm = hasBeenReady && unready === 0 && !isDraining && queue.isEmpty() && !isStarting();
    if (hasSpare && isCalm) homes.spawnSpare();
    tickWhileBusy();
  };

  const tick = (): void => {
    for (const home of all()) keeper.tick(home);
    queue.expire();
    assign();
  };
  const tickWhileBusy = (): void => {
    if (busy()) stopTicking ??= timers.every(tickMs, tick);
    else {
      stopTicking?.();
      stopTicking = undefined;
    }
  };

  const allGone = async (which: () => Home[]): Promise<void> => {
    while (which().length > 0) await new Promise<void>((resolve) => gone.push(resolve));
  };

  assign();
  return {
    ready: () => becameReady.promise,
    isReady: () => all().some((home) => home.cell.isReady()),
    isUsable: () => !isClosed && !isDraining && unready < TRIES,
    types: () => [...types.keys()],
    find: (type) => types.get(type),
    async check(type, payload) {
      if (!types.has(type)) return { kind: 'unknownType' };
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
      stopTicking?.();
      options.onClosed?.();
    },
  };
}
