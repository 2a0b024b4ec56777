import type { Work } from '../cells.ts';
import type { Cell } from './cell.ts';

type Placeable = Pick<Work, 'maxInCell'>;
type Place = Pick<Cell, 'canServe' | 'used' | 'runs'>;

export function hasMarked({ runs }: Place): boolean {
  // Isolated jobs share cells only with each other, so one is enough.
  const [first] = runs.values();
  return first?.work.maxInCell !== undefined;
}

/** `share`: how many other jobs a cell may hold. */
export function fits(cell: Place, { maxInCell }: Placeable, share: number): boolean {
  if (!cell.canServe()) return false;
  if (maxInCell === 1) return cell.used() === 0;
  const { size } = cell.runs;
  if (maxInCell === undefined) return size < share && !hasMarked(cell);
  if (size === 0) return true;
  const limits = [...cell.runs.values()].map(({ work }) => work.maxInCell ?? 0);
  return hasMarked(cell) && size < Math.min(maxInCell, ...limits);
}

/** The least busy cell; for isolated jobs the fullest, to spare the others. */
export function cellFor<Some extends Place>(
  cells: Iterable<Some>,
  job: Placeable,
  share: number,
  except?: Some,
): Some | undefined {
  const sign = job.maxInCell === undefined ? 1 : -1;
  let best: Some | undefined;
  // On the hot path, so it builds no arrays.
  for (const cell of cells) {
    if (cell === except || !fits(cell, job, share)) continue;
    if (best === undefined || sign * (cell.runs.size - best.runs.size) < 0) best = cell;
  }
  return best;
}

export function cellsWanted(waiting: readonly Placeable[]): number {
  const marked = waiting.filter(({ maxInCell }) => maxInCell !== undefined);
  const forMarked = marked.reduce((sum, { maxInCell = 1 }) => sum + 1 / maxInCell, 0);
  return Math.ceil(forMarked) + (marked.length < waiting.length ? 1 : 0);
}
