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

/** The mistakes that the simulation must find. Each is one that this protocol was designed against. */
export const plantedBugs: readonly PlantedBug[] = [
  ...fenceBugs,
  ...leaseBugs,
  ...lossBugs,
  ...bookkeepingBugs,
  ...dataBugs,
  ...cellBugs,
  ...batchBugs,
  ...limitBugs,
];
