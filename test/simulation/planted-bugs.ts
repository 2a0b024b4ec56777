import { batchBugs } from './batch-bugs.ts';
import { bookkeepingBugs } from './bookkeeping-bugs.ts';
import { cellBugs } from './cell-bugs.ts';
import { dataBugs } from './data-bugs.ts';
import { fenceBugs } from './fence-bugs.ts';
import { leaseBugs } from './lease-bugs.ts';
import { limitBugs } from './limit-bugs.ts';
import { lossBugs } from './loss-bugs.ts';
import type { PlantedBug } from './planted-bug.ts';

export { redundantFences } from './fence-bugs.ts';

/** By the part of the name of their file. */
export const bugsByFile = {
  fence: fenceBugs,
  lease: leaseBugs,
  loss: lossBugs,
  bookkeeping: bookkeepingBugs,
  data: dataBugs,
  cell: cellBugs,
  batch: batchBugs,
  limit: limitBugs,
} satisfies Readonly<Record<string, readonly PlantedBug[]>>;

/** The mistakes that the simulation must find. Each is one that this protocol was designed against. */
export const plantedBugs: readonly PlantedBug[] = Object.values(bugsByFile).flat();
