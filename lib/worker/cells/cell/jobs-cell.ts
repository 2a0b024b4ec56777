import { takeOrders } from '../cell-orders.ts';
import type { Cells } from '../cells.ts';
import type { CellsOptions } from '../host/fork-cells.ts';
import { loadRegistry } from '../load-jobs-module.ts';
import { createNoCells } from '../no-cells.ts';
import { runCell } from './run-cell.ts';

/**
 * The program of the cells of a bundled worker: whoever bundles this file says by an alias which module has the jobs. The module is
 * loaded last, when the cell can tell what is wrong with it.
 */
const load = () => loadRegistry(() => import('leasehold-jobs-module'), 'of this function');

const orders = takeOrders();
if (orders !== undefined) runCell(orders, load);

/** For a host with `isolation: 'none'`, which imports this file instead of running it. */
export const createCells = (options: CellsOptions): Cells => createNoCells({ ...options, load });
