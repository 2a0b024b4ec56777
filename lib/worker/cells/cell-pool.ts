import type { Clock, Telemetry } from '../../protocol/ports.ts';
import type { Settings } from '../../settings/settings.ts';
import type { AbortReason } from '../abort-reasons.ts';
import type { JobOptions } from '../define-job.ts';
import { checkTypes } from '../registry.ts';
import { type Cell, type CellDeath, startCell } from './cell.ts';
import type { CellLauncher } from './cell-process.ts';
import type { Cells, KilledFor, PayloadCheck, Run, RunEnd, Suspicion, Work } from './cells.ts';
import { JobsModuleError } from './load-jobs-module.ts';
import { thrownBy } from './thrown.ts';

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

/** A cell, and whom it is for. */
interface Housed {
  readonly cell: Cell;
  /** Undefined: for everybody. */
  suspicion?: Suspicion;
  /** The run that is to be alone in it. */
  reservedFor?: number;
  /** The run for whose sake the host ends the cell. */
  culprit?: number;
}

interface Waiting {
  readonly run: number;
  readonly work: Work;
  readonly settle: (end: RunEnd | 'unstarted') => void;
  since: number;
}

const TICK_MS = 250;
const LEAST_TICK_MS = 20;
/** A stall is measured to within this share of it. */
const TICKS_PER_STALL = 8;
/** A cell whose pulse is this many ticks late is given nothing. */
const LATE_TICKS = 3;
/** A job that was handed over and has not begun by then is taken elsewhere. */
const UNSTARTED_MS = 1000;
/** How long neighbours have to stop before their cell is ended. */
const NEIGHBOURS_MS = 2000;
/** How long a job waits for a cell before it is released. */
const PATIENCE_MS = 30_000;
/** The share of its memory beyond which a cell is ended, and beyond which one that is idle is replaced. */
const TOO_MUCH = 0.95;
const MUCH = 0.7;
const FAILURES_IN_A_ROW = 5;
/** Cells that die before they are ready while none is: then the jobs module is to blame. */
const TRIES = 3;
const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 30_000;
/** Cells beside the usual number: for suspects, and for work that would wait behind a handler that computes. */
const EXTRA_CELLS = 8;

/** The cells of one host. */
export function createCellPool(options: CellPoolOptions): Cells {
  const { clock, telemetry, settings, serviceName, cells: target, memoryBytes } = options;
  const { timers = nodeTimers } = options;
  const share = Math.max(1, Math.ceil(options.concurrency / target));
  const tickMs = Math.max(
    LEAST_TICK_MS,
    Math.min(TICK_MS, Math.floor(settings.maxStallMs / TICKS_PER_STALL)),
  );
  const housed = new Set<Housed>();
  const types = new Map<string, JobOptions>();
  const becameReady = Promise.withResolvers<void>();
  becameReady.promise.catch(() => {});
  let waiting: Waiting[] = [];
  let ids = 0;
  let groups = 0;
  let unready = 0;
  let hasBeenReady = false;
  let isDraining = false;
  let isClosed = false;
  let stopTicking: (() => void) | undefined;
  const gone: (() => void)[] = [];

  const alive = (home: Housed) => !home.cell.isRetired();
  const shared = () =>
    [...housed].filter(
      (home) => alive(home) && home.suspicion === undefined && home.reservedFor === undefined,
    );
  const isWatched = (home: Housed) => home.cell.busy() > 0 || home.cell.missedPulses() > 0 || !alive(home);
  const busy = () => waiting.length > 0 || [...housed].some(isWatched);

  const spawn = (suspicion?: Suspicion): Housed | undefined => {
    if (isClosed || housed.size >= target + EXTRA_CELLS) return undefined;
    const cell = startCell({
      id: ++ids,
      process: options.launch({
        ...{ serviceName, pulseMs: tickMs, jobs: options.jobs },
        maxCheckpointBytes: settings.maxCheckpointBytes,
        maxResultBytes: settings.maxResultBytes,
      }),
      ...{ limits: settings, clock, memoryBytes, pulseMs: tickMs, soon: timers.soon },
      onReady: (told) => onReady(home, told),
      onFreed: () => onFreed(home),
      onDead: (death) => onDead(home, death),
    });
    const home: Housed = { cell, suspicion };
    housed.add(home);
    return home;
  };

  const onReady = (home: Housed, told: readonly ({ readonly type: string } & JobOptions)[]): void => {
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

  const onFreed = (home: Housed): void => {
    const { cell } = home;
    if (cell.busy() === 0 && alive(home)) {
      // Who was suspected has ended, and not by a death: the cell is like any other.
      home.suspicion = undefined;
      home.reservedFor = undefined;
      const isWorn = cell.memory() > memoryBytes * MUCH || cell.failures() >= FAILURES_IN_A_ROW;
      if (isWorn || shared().length > target) cell.kill('closing');
    }
    if (!alive(home) && home.culprit !== undefined) endIfOnlyCulprit(home);
    assign();
  };

  const onDead = (home: Housed, death: CellDeath): void => {
    housed.delete(home);
    for (const resolve of gone.splice(0)) resolve();
    if (!death.wasReady && !isClosed) void onUnready(death);
    if (!death.wasReady) return;
    judge(home, death);
    if (!isClosed) assign();
  };

  /** Who is to blame, and with whom the others may share a cell from now on. */
  const judge = (home: Housed, { runs, checks, cause, killedFor }: CellDeath): void => {
    const forNobody = isDraining || killedFor === 'closing';
    const isSparing = forNobody || killedFor === 'ignored signal';
    const count = runs.length + checks.length;
    const isToBlame = !isSparing && count === 1 && home.cell.used() === 1 && runs.every((run) => run.started);
    const suspicion = isSparing || count === 0 ? undefined : { group: ++groups, limit: Math.ceil(count / 2) };
    if (runs.length > 0)
      telemetry.warn('a cell died', { cell: home.cell.id, pid: home.cell.pid, cause, jobs: runs.length });
    if (runs.length > 0 && !forNobody) {
      telemetry.count('CellsDied');
      telemetry.count('JobsCrashed', runs.length);
    }
    for (const run of runs) {
      run.unlisten();
      run.settle({ kind: 'died', cause, isToBlame, suspicion });
    }
    for (const { settle } of checks) settle({ kind: 'unanswered', suspicion });
  };

  const onUnready = async ({ unloadable, cause }: CellDeath): Promise<void> => {
    unready += 1;
    const reason = unloadable ?? `a cell ended before it was ready: ${cause}`;
    telemetry.count('CellsUnready');
    telemetry.error('no cell can be started', new Error(reason), { tries: unready });
    if (unready >= TRIES && ![...housed].some((home) => home.cell.isReady())) {
      if (!hasBeenReady) becameReady.reject(new JobsModuleError(options.source, reason));
      for (const { settle } of waiting.splice(0)) settle({ kind: 'unplaced', cause: reason });
    }
    await clock.sleep(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (unready - 1)));
    assign();
  };

  /** Gives those who wait their cells, and sees to it that there are cells. */
  const assign = (): void => {
    if (isClosed) return;
    // One after the other, unless somebody waits: a cell that a crashed job is to be alone in must not share the processor
    // with the start of one that nobody needs yet.
    const isInNoHurry = [...housed].some((home) => alive(home) && !home.cell.isReady());
    while (shared().length < target && unready === 0 && !(hasBeenReady && isInNoHurry))
      if (spawn() === undefined || hasBeenReady) break;
    const left: Waiting[] = [];
    for (const each of waiting) {
      const home = homeFor(each);
      if (home === undefined) left.push(each);
      else home.cell.run(each.run, each.work, each.settle);
    }
    waiting = left;
    if (unready > 0 && housed.size === 0) spawn();
    tickWhileBusy();
  };

  const homeFor = ({ run, work }: Waiting): Housed | undefined => {
    const { suspicion } = work;
    if (suspicion === undefined) return forAnybody(work);
    return suspicion.limit === 1 ? aloneAndFresh(run) : withSuspects(suspicion);
  };

  const forAnybody = ({ checked }: Pick<Work, 'checked'>): Housed | undefined => {
    const free = shared().filter((home) => hasRoom(home, share));
    if (free.length === 0 && shared().every((home) => home.cell.isReady())) spawn();
    return free.find((home) => home.cell.id === checked?.cell) ?? free.sort(byLoad)[0];
  };

  const withSuspects = (suspicion: Suspicion): Housed | undefined => {
    const homes = [...housed].filter((home) => alive(home) && home.suspicion?.group === suspicion.group);
    const free = homes.filter((home) => hasRoom(home, suspicion.limit));
    if (free[0] === undefined && homes.length < 2 && adopt(suspicion) === undefined) spawn(suspicion);
    return free[0];
  };

  /** A cell that nobody has used serves suspects as well as a new one, and is there sooner. */
  const adopt = (suspicion?: Suspicion): Housed | undefined => {
    const home = shared().find(({ cell }) => cell.used() === 0);
    if (home !== undefined) home.suspicion = suspicion;
    return home;
  };

  const aloneAndFresh = (run: number): Housed | undefined => {
    // One that it was handed to and did not begin in is not fresh any more, and may be stuck.
    const isReserved = (home: Housed) => alive(home) && home.reservedFor === run && home.cell.used() === 0;
    const reserved = [...housed].find(isReserved);
    const home = reserved ?? adopt() ?? spawn();
    if (home === undefined) return undefined;
    home.reservedFor = run;
    return home.cell.isReady() ? home : undefined;
  };

  const hasRoom = ({ cell }: Housed, most: number): boolean =>
    cell.isReady() && cell.busy() < most && cell.missedPulses() < LATE_TICKS;
  const byLoad = (a: Housed, b: Housed) => a.cell.busy() - b.cell.busy();

  /** Ends a cell; those who are in it by chance may stop first, if they can hear at all. */
  const end = async (home: Housed, why: KilledFor, culprit?: number): Promise<void> => {
    if (!alive(home)) return;
    home.cell.retire();
    home.culprit = culprit;
    const neighbours = [...home.cell.runs.values()].filter(({ run }) => run !== culprit);
    if (neighbours.length > 0 && home.cell.missedPulses() < LATE_TICKS) {
      for (const { work } of neighbours) work.onRetired();
      await clock.sleep(Math.min(NEIGHBOURS_MS, settings.killAfterMs));
    }
    home.cell.kill(why);
  };
  const endIfOnlyCulprit = (home: Housed): void => {
    if ([...home.cell.runs.keys()].every((run) => run === home.culprit)) home.cell.kill('ignored signal');
  };

  const tick = (): void => {
    for (const home of housed) {
      const { cell } = home;
      cell.tick();
      if (!alive(home)) continue;
      const patience = Math.min(
        ...[...cell.runs.values()].map(({ work }) => work.maxStallMs),
        settings.maxStallMs,
      );
      if (cell.missedPulses() * tickMs > patience) void end(home, 'stalled');
      else if (cell.memory() > memoryBytes * TOO_MUCH) void end(home, 'memory');
      else
        for (const run of cell.runs.values())
          if (!run.started && run.ticks * tickMs > UNSTARTED_MS) cell.revokeUnstarted(run.run);
    }
    const tooLong = waiting.filter(({ since }) => clock.monotonic() - since > PATIENCE_MS);
    waiting = waiting.filter((each) => !tooLong.includes(each));
    for (const { settle } of tooLong) settle({ kind: 'unplaced', cause: 'no cell had room for it' });
    assign();
  };
  const tickWhileBusy = (): void => {
    if (busy()) stopTicking ??= timers.every(tickMs, tick);
    else {
      stopTicking?.();
      stopTicking = undefined;
    }
  };

  const allGone = async (which: () => Housed[]): Promise<void> => {
    while (which().length > 0) await new Promise<void>((resolve) => gone.push(resolve));
  };

  assign();
  return {
    ready: () => becameReady.promise,
    isReady: () => [...housed].some((home) => home.cell.isReady()),
    isUsable: () => !isClosed && !isDraining && unready < TRIES,
    types: () => [...types.keys()],
    find: (type) => types.get(type),
    async check(type, payload) {
      if (!types.has(type)) return { kind: 'unknownType' };
      const home = shared()
        .filter((each) => hasRoom(each, Number.POSITIVE_INFINITY))
        .sort(byLoad)[0];
      if (home === undefined) return { kind: 'unanswered' };
      const answer = Promise.withResolvers<PayloadCheck>();
      home.cell.check(++ids, type, payload, answer.resolve);
      tickWhileBusy();
      return answer.promise;
    },
    forget(check) {
      if (check.kind !== 'accepted' || check.token === undefined) return;
      const { cell: id, check: number } = check.token;
      [...housed].find(({ cell }) => cell.id === id)?.cell.forget(number);
    },
    start: (work) => startRun(work),
    async quiet() {
      await allGone(() => [...housed].filter((home) => !alive(home)));
      await Promise.all([...housed].map(({ cell }) => cell.flush()));
    },
    drain() {
      isDraining = true;
    },
    async close() {
      isClosed = true;
      for (const { cell } of housed) cell.kill('closing');
      for (const { settle } of waiting.splice(0)) settle({ kind: 'unplaced', cause: 'the host closes' });
      await allGone(() => [...housed]);
      stopTicking?.();
      options.onClosed?.();
    },
  };

  function startRun(work: Work): Run {
    const ended = Promise.withResolvers<RunEnd>();
    // Another number in each cell: one that it was taken from may still find the message, and must not take it for its own.
    let run = 0;
    let aborted: AbortReason | undefined;
    const homeOf = () => [...housed].find(({ cell }) => cell.runs.has(run));
    const place = (given: Work): void => {
      run = ++ids;
      waiting.push({
        ...{ run, work: given, since: clock.monotonic() },
        settle(end) {
          if (end !== 'unstarted') ended.resolve(end);
          else if (aborted !== undefined) ended.resolve({ kind: 'threw', error: thrownBy(aborted) });
          // Not begun, so nothing has to be told to anybody: it goes to another cell.
          else place({ ...given, checked: undefined });
        },
      });
      assign();
      if (aborted !== undefined) homeOf()?.cell.abort(run, aborted);
    };
    place(work);
    return {
      end: ended.promise,
      abort(reason) {
        aborted = reason;
        homeOf()?.cell.abort(run, reason);
      },
      kill(why) {
        const home = homeOf();
        if (home !== undefined) return void end(home, why, run);
        waiting = waiting.filter((each) => each.run !== run);
        ended.resolve({ kind: 'unplaced', cause: 'it was ended before it began' });
      },
    };
  }
}
