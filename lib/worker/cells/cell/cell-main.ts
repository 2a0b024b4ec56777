import { enableCompileCache, flushCompileCache } from 'node:module';
import { takeOrders } from '../cell-orders.ts';

/** The program of a cell whose host was given the path of a jobs module. */
async function main(): Promise<void> {
  const orders = takeOrders();
  if (orders?.jobs === undefined)
    throw new Error('this program is started by a worker; run `leasehold work <jobs module>`');
  const { jobs, compileCache } = orders;
  // Before anything else is loaded: what the first cell has compiled, types stripped, its successors need not.
  if (compileCache !== undefined) enableCompileCache(compileCache);
  const { runCell } = await import('./run-cell.ts');
  const { loadJobsModule } = await import('../load-jobs-module.ts');
  // Kept at once: a cell seldom ends in a way that leaves time for it.
  runCell(orders, () => loadJobsModule(jobs), compileCache === undefined ? undefined : flushCompileCache);
}

void main();
