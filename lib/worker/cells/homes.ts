import type { Cell } from './cell.ts';
import type { Suspicion, Work } from './cells.ts';

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
  unreserve(waiting: readonly { readonly run: number; readonly work: Work }[]): void;
  /** Where this run goes now; undefined where it has to wait, and then there is a cell under way if there can be one. */
  homeFor(waiting: { readonly run: number; readonly work: Work }): Home | undefined;
  /** One of the least busy that can be asked something. */
  forCheck(): Home | undefined;
  ofRun(run: number): Home | undefined;
}

/** A cell whose pulse is this many ticks late is given nothing. */
const LATE_TICKS = 3;

/** As many as a poll brings. */
const MOST_TOGETHER = 10;

export const isAlive = (home: Home): boolean => !home.cell.isRetired();
/** It serves everybody. */
const isShared = (home: Home): boolean =>
  isAlive(home) && !home.isSpare && home.suspicion === undefined && home.reservedFor === undefined;
export const isLate = ({ cell }: Pick<Home, 'cell'>): boolean => cell.missedPulses() >= LATE_TICKS;

/** The cells of a pool, and who may go where. */
export function createHomes(options: {
  /** How many jobs may share a cell. */
  readonly share: number;
  /** How many cells there may be. */
  readonly most: number;
  readonly start: (home: () => Home) => Cell;
}): Homes {
  const { share, most } = options;
  const homes: Home[] = [];
  /** Payloads that come together go to one cell together, which takes one message, where it has so many jobs that it does not matter. */
  const together = Math.max(1, Math.min(MOST_TOGETHER, Math.floor(share / 4)));
  let checking: Home | undefined;
  // A copy: whoever walks through them may end or start some.
  const all = () => [...homes];
  const shared = () => homes.filter(isShared);

  const spawn = (given: Partial<Pick<Home, 'suspicion' | 'isSpare'>> = {}): Home | undefined => {
    if (homes.length >= most) return undefined;
    const home: Home = { cell: options.start(() => home), isSpare: false, ...given };
    homes.push(home);
    return home;
  };

  const takeSpare = (): Home | undefined => {
    const spare = all().find((home) => home.isSpare && isAlive(home));
    if (spare !== undefined) spare.isSpare = false;
    return spare;
  };
  /** A cell that nobody has used is as good as a new one, and is there sooner. */
  const takeUnused = (): Home | undefined =>
    takeSpare() ?? shared().find(({ cell }) => cell.used() === 0) ?? spawn();

  // Checks do not count: they are over in an instant, and a cell that has some is not full for it.
  const hasRoom = (home: Home, limit: number): boolean =>
    home.cell.isReady() && home.cell.runs.size < limit && !isLate(home);
  /** Asked for each job, so it makes no lists. */
  const leastBusy = (limit: number, preferred?: number): Home | undefined => {
    let best: Home | undefined;
    for (const home of homes) {
      if (!isShared(home) || !hasRoom(home, limit)) continue;
      if (home.cell.id === preferred) return home;
      if (best === undefined || home.cell.busy() < best.cell.busy()) best = home;
    }
    return best;
  };

  const forAnybody = ({ checked }: Pick<Work, 'checked'>): Home | undefined => {
    const free = leastBusy(share, checked?.cell);
    if (free !== undefined) return free;
    const spare = all().find((home) => home.isSpare && home.cell.isReady());
    if (spare !== undefined) return takeSpare();
    if (shared().every(({ cell }) => cell.isReady())) spawn();
    return undefined;
  };

  const withSuspects = (suspicion: Suspicion): Home | undefined => {
    const mine = all().filter((home) => isAlive(home) && home.suspicion?.group === suspicion.group);
    const free = mine.find((home) => hasRoom(home, suspicion.limit));
    if (free !== undefined || mine.length >= 2) return free;
    const home = takeUnused();
    if (home !== undefined) home.suspicion = suspicion;
    return home !== undefined && hasRoom(home, suspicion.limit) ? home : undefined;
  };

  const aloneAndFresh = (run: number): Home | undefined => {
    // One that it was handed to and did not begin in is not fresh any more, and may be stuck.
    const isReserved = (home: Home) => isAlive(home) && home.reservedFor === run && home.cell.used() === 0;
    const home = all().find(isReserved) ?? takeUnused();
    if (home === undefined) return undefined;
    home.reservedFor = run;
    return home.cell.isReady() ? home : undefined;
  };

  return {
    ...{ all, shared, spawn },
    spawnSpare() {
      if (!all().some((home) => home.isSpare && isAlive(home))) spawn({ isSpare: true });
    },
    forget(home) {
      const at = homes.indexOf(home);
      if (at !== -1) homes.splice(at, 1);
    },
    unreserve(waiting) {
      for (const home of homes) {
        if (home.cell.busy() > 0 || (home.reservedFor ?? home.suspicion) === undefined) continue;
        const { reservedFor, suspicion } = home;
        if (!waiting.some(({ run }) => run === reservedFor)) home.reservedFor = undefined;
        if (!waiting.some(({ work }) => work.suspicion?.group === suspicion?.group))
          home.suspicion = undefined;
      }
    },
    homeFor({ run, work }) {
      const { suspicion } = work;
      if (suspicion === undefined) return forAnybody(work);
      return suspicion.limit === 1 ? aloneAndFresh(run) : withSuspects(suspicion);
    },
    forCheck() {
      const best = leastBusy(Number.POSITIVE_INFINITY);
      if (best === undefined) return undefined;
      const isUsable =
        checking !== undefined && isShared(checking) && hasRoom(checking, Number.POSITIVE_INFINITY);
      if (!isUsable || (checking?.cell.busy() ?? 0) - best.cell.busy() >= together) checking = best;
      return checking;
    },
    ofRun: (run) => all().find(({ cell }) => cell.runs.has(run)),
  };
}
