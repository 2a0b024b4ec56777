import { enableCompileCache, flushCompileCache } from 'node:module';
import { takeOrders } from '../cell-orders.ts';

async function main(): Promise<void> {
  const orders = takeOrders();
  if (orders?.jobs === undefined)
    throw new Error('this program is started by a worker; run `leasehold work <jobs module>`');
  const { jobs, compileCache } = orders;
  // First, so that later cells need not compile again.
  if (compileCache !== undefined) enableCompileCache(compileCache);
  const { runCell } = await import('./run-cell.ts');
  const { loadJobsModule } = await import('../../load-jobs-module.ts');
  // Written at once, because cells rarely exit in an orderly way.
  runCell(orders, () => loadJobsModule(jobs), compileCache === undefined ? undefined : flushCompileCache);
}

void main();
