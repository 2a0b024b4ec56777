import type { Suspicion, Work } from '../cells.ts';
import type { Cell } from './cell.ts';

/** A cell, and whom it is for. */
export interface Home {
  readonly cell: Cell;
  /** Undefined: for everybody. */
  suspicion?: Suspicion;
  /** The run that is to be alone in it. */
  reservedFor?: number;
  /** The run for whose sake the host ends the cell. */
  culprit?: number;
  /** Kept ready for the next death. */
  isSpare: boolean;
}

/** A run that waits for a cell. */
interface Placeable {
  readonly run: number;
  readonly work: Work;
}

export interface Homes {
  all(): Home[];
  /** Those that serve everybody. */
  shared(): Home[];
  /** A new cell; undefined where there are too many already. */
  spawn(): Home | undefined;
  /** One that waits for the next death: a job that must be alone in a fresh cell would else wait for its start. */
  spawnSpare(): void;
  forget(home: Home): void;
  /** Cells that wait for runs which do not wait for them any more are there for everybody. */
  unreserve(waiting: readonly Placeable[]): void;
  /** Where this run goes now; undefined where it has to wait, and then there is a cell under way if there can be one. */
  homeFor(waiting: Placeable): Home | undefined;
  /** One of the least busy that can be asked something. */
  forCheck(): Home | undefined;
  ofRun(run: number): Home | undefined;
}

/** A cell whose pulse is this many ticks late is given nothing. */
const LATE_TICKS = 3;

/** As many as a poll brings. */
const MOST_TOGETHER = 10;
const ANY_NUMBER = Number.POSITIVE_INFINITY;

export const isAlive = (home: Home): boolean => !home.cell.isRetired();
/** It serves everybody. */
const isShared = (home: Home): boolean =>
  isAlive(home) && !home.isSpare && home.suspicion === undefined && home.reservedFor === undefined;
export const isLate = ({ cell }: Pick<Home, 'cell'>): boolean => cell.missedPulses() >= LATE_TICKS;
/** It can be given something now. */
export const canServe = (home: Home): boolean => home.cell.isReady() && !isLate(home);

interface HomesOptions {
  /** How many jobs may share a cell. */
  readonly share: number;
  /** How many cells there may be. */
  readonly most: number;
  readonly start: (home: () => Home) => Cell;
}

export const createHomes = (options: HomesOptions): Homes => new CellHomes(options);

/** The cells of a pool, and who may go where. */
class CellHomes implements Homes {
  readonly #options: HomesOptions;
  readonly #homes: Home[] = [];
  /** Payloads that come together go to one cell together, which takes one message, where it has so many jobs that it does not matter. */
  readonly #together: number;
  #checking: Home | undefined;

  constructor(options: HomesOptions) {
    this.#options = options;
    this.#together = Math.max(1, Math.min(MOST_TOGETHER, Math.floor(options.share / 4)));
  }

  // A copy: whoever walks through them may end or start some.
  all(): Home[] {
    return [...this.#homes];
  }

  shared(): Home[] {
    return this.#homes.filter(isShared);
  }

  spawn(given: Partial<Pick<Home, 'suspicion' | 'isSpare'>> = {}): Home | undefined {
    if (this.#homes.length >= this.#options.most) return undefined;
    const home: Home = { cell: this.#options.start(() => home), isSpare: false, ...given };
    this.#homes.push(home);
    return home;
  }

  spawnSpare(): void {
    if (!this.#homes.some((home) => home.isSpare && isAlive(home))) this.spawn({ isSpare: true });
  }

  forget(home: Home): void {
    const at = this.#homes.indexOf(home);
    if (at !== -1) this.#homes.splice(at, 1);
  }

  unreserve(waiting: readonly Placeable[]): void {
    for (const home of this.#homes) {
      if (home.cell.busy() > 0 || (home.reservedFor ?? home.suspicion) === undefined) continue;
      const { reservedFor, suspicion } = home;
      if (!waiting.some(({ run }) => run === reservedFor)) home.reservedFor = undefined;
      if (!waiting.some(({ work }) => work.suspicion?.group === suspicion?.group)) home.suspicion = undefined;
    }
  }

  homeFor({ run, work }: Placeable): Home | undefined {
    const { suspicion } = work;
    if (suspicion === undefined) return this.#forAnybody(work);
    return suspicion.limit === 1 ? this.#aloneAndFresh(run) : this.#withSuspects(suspicion);
  }

  forCheck(): Home | undefined {
    const best = this.#leastBusy(ANY_NUMBER);
    if (best === undefined) return undefined;
    const last = this.#checking;
    const isUsable = last !== undefined && isShared(last) && hasRoom(last, ANY_NUMBER);
    if (!isUsable || last.cell.busy() - best.cell.busy() >= this.#together) this.#checking = best;
    return this.#checking;
  }

  ofRun(run: number): Home | undefined {
    return this.#homes.find(({ cell }) => cell.runs.has(run));
  }

  /** Asked for each job, so it makes no lists. */
  #leastBusy(limit: number, preferred?: number): Home | undefined {
    let best: Home | undefined;
    for (const home of this.#homes) {
      if (!isShared(home) || !hasRoom(home, limit)) continue;
      if (home.cell.id === preferred) return home;
      if (best === undefined || home.cell.busy() < best.cell.busy()) best = home;
    }
    return best;
  }

  #forAnybody({ checked }: Pick<Work, 'checked'>): Home | undefined {
    const free = this.#leastBusy(this.#options.share, checked?.cell);
    if (free !== undefined) return free;
    const spare = this.#homes.find((home) => home.isSpare && home.cell.isReady());
    if (spare !== undefined) return this.#takeSpare();
    if (this.shared().every(({ cell }) => cell.isReady())) this.spawn();
    return undefined;
  }

  #withSuspects(suspicion: Suspicion): Home | undefined {
    const mine = this.#homes.filter((home) => isAlive(home) && home.suspicion?.group === suspicion.group);
    const free = mine.find((home) => hasRoom(home, suspicion.limit));
    if (free !== undefined || mine.length >= 2) return free;
    const home = this.#takeUnused();
    if (home !== undefined) home.suspicion = suspicion;
    return home !== undefined && hasRoom(home, suspicion.limit) ? home : undefined;
  }

  #aloneAndFresh(run: number): Home | undefined {
    // One that it was handed to and did not begin in is not fresh any more, and may be stuck.
    const isReserved = (home: Home) => isAlive(home) && home.reservedFor === run && home.cell.used() === 0;
    const home = this.#homes.find(isReserved) ?? this.#takeUnused();
    if (home === undefined) return undefined;
    home.reservedFor = run;
    return home.cell.isReady() ? home : undefined;
  }

  /** A cell that nobody has used is as good as a new one, and is there sooner. */
  #takeUnused(): Home | undefined {
    return this.#takeSpare() ?? this.shared().find(({ cell }) => cell.used() === 0) ?? this.spawn();
  }

  #takeSpare(): Home | undefined {
    const spare = this.#homes.find((home) => home.isSpare && isAlive(home));
    if (spare !== undefined) spare.isSpare = false;
    return spare;
  }
}

// Checks do not count: they are over in an instant, and a cell that has some is not full for it.
const hasRoom = (home: Home, limit: number): boolean => canServe(home) && home.cell.runs.size < limit;
