import { loadRegistry } from '../../load-jobs-module.ts';
import { takeOrders } from '../cell-orders.ts';
import type { Cells, CellsOptions } from '../cells.ts';
import { createNoCells } from '../no-cells.ts';
import { runCell } from './run-cell.ts';

/** Loaded last, when the cell can report a module that fails. */
export const importJobs = (): Promise<object> => import('leasehold-jobs-module');
const load = () => loadRegistry(importJobs, 'of this function');

const orders = takeOrders();
if (orders !== undefined) runCell(orders, load);

/** Imported by hosts with `isolation: 'none'`. */
export const createCells = (options: CellsOptions): Cells => createNoCells({ ...options, registry: load });
