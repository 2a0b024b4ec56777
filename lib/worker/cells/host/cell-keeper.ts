import type { Clock } from '../../../protocol/ports.ts';
import type { Settings } from '../../../settings/settings.ts';
import type { KilledFor, Suspicion } from '../cells.ts';
import { type Home, isAlive, isLate } from './homes.ts';

/** Ends cells that are stuck, too large or worn, and moves jobs that a cell does not begin. */
export interface CellKeeper {
  /** One beat of the host's own time for one cell. */
  tick(home: Home): void;
  /** Ends a cell; those who are in it by chance may stop first, if they can hear at all. */
  end(home: Home, why: KilledFor, culprit?: number): Promise<void>;
  /** Of a cell that is being ended: nobody but the culprit is left to wait for. */
  endIfOnlyCulprit(home: Home): void;
  /** Whether an idle cell should be replaced. */
  isWorn(home: Home): boolean;
}

/** A job that was handed over and has not begun by then is taken elsewhere. */
const UNSTARTED_MS = 1000;
/** How long neighbours have to stop before their cell is ended. */
const NEIGHBOURS_MS = 2000;
/** The share of its memory beyond which a cell is ended, and beyond which one that is idle is replaced. */
const TOO_MUCH = 0.95;
const MUCH = 0.7;
const FAILURES_IN_A_ROW = 5;

export function createCellKeeper(options: {
  readonly clock: Clock;
  readonly settings: Pick<Settings, 'maxStallMs' | 'killAfterMs'>;
  readonly memoryBytes: number;
  readonly tickMs: number;
  /** What so many jobs are under of whom one may be to blame. */
  readonly suspicionOf: (jobs: number) => Suspicion;
}): CellKeeper {
  const { clock, settings, memoryBytes, tickMs } = options;

  const end: CellKeeper['end'] = async (home, why, culprit) => {
    if (!isAlive(home)) return;
    home.cell.retire();
    home.culprit = culprit;
    const neighbours = [...home.cell.runs.values()].filter(({ run }) => run !== culprit);
    const isForMemory = why === 'memory';
    // Memory is used by one of those in it: if there is only one, it is no neighbour.
    if (neighbours.length > (isForMemory ? 1 : 0) && !isLate(home)) {
      const suspicion = isForMemory ? options.suspicionOf(neighbours.length) : undefined;
      for (const { work } of neighbours) work.onRetired(suspicion);
      await clock.sleep(Math.min(NEIGHBOURS_MS, settings.killAfterMs));
    }
    home.cell.kill(why);
  };

  return {
    end,
    tick(home) {
      const { cell } = home;
      cell.tick();
      if (!isAlive(home)) return;
      const runs = [...cell.runs.values()];
      const patience = Math.min(settings.maxStallMs, ...runs.map(({ work }) => work.maxStallMs));
      if (cell.missedPulses() * tickMs > patience) void end(home, 'stalled');
      else if (cell.memory() > memoryBytes * TOO_MUCH) void end(home, 'memory');
      else
        for (const run of runs)
          if (!run.started && run.ticks * tickMs > UNSTARTED_MS) cell.revokeUnstarted(run.run);
    },
    endIfOnlyCulprit(home) {
      if ([...home.cell.runs.keys()].every((run) => run === home.culprit)) home.cell.kill('ignored signal');
    },
    isWorn: ({ cell }) => cell.memory() > memoryBytes * MUCH || cell.failures() >= FAILURES_IN_A_ROW,
  };
}
