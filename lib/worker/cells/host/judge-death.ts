import type { Suspicion } from '../cells.ts';
import type { CellDeath } from './cell.ts';

/** What follows from a death for whoever was in the cell. */
export interface DeathVerdict {
  /** Nobody's doing: the host ended the cell for reasons of its own. */
  readonly forNobody: boolean;
  readonly isToBlame: boolean;
  readonly suspicion?: Suspicion;
}

/** Who is to blame, and with whom the others may share a cell from now on. */
export function judgeDeath(
  { runs, checks, killedFor }: CellDeath,
  context: {
    /** How many jobs have been in the cell. */
    readonly used: number;
    readonly isDraining: boolean;
    readonly suspicionOf: (jobs: number) => Suspicion;
  },
): DeathVerdict {
  const forNobody = context.isDraining || killedFor === 'closing';
  const isSparing = forNobody || killedFor === 'ignored signal';
  const count = runs.length + checks.length;
  const wasAlone = count === 1 && context.used === 1;
  return {
    forNobody,
    isToBlame: !isSparing && wasAlone && runs.every((run) => run.started),
    suspicion: isSparing || count === 0 ? undefined : context.suspicionOf(count),
  };
}
