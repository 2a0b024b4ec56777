import type { Telemetry } from '../../../protocol/ports.ts';
import type { Suspicion } from '../cells.ts';
import type { Cell, CellDeath } from './cell.ts';
import { judgeDeath } from './judge-death.ts';

/** Tells everybody who was in a cell that it is no more, and what that means for them. */
export function settleDeath(
  cell: Cell,
  death: CellDeath,
  options: {
    readonly telemetry: Telemetry;
    readonly isDraining: boolean;
    /** What so many jobs are under of whom one may be to blame. */
    readonly suspicionOf: (jobs: number) => Suspicion;
  },
): void {
  const { telemetry, isDraining, suspicionOf } = options;
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
}
