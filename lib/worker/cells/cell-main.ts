import { takeOrders } from './cell-orders.ts';
import { loadJobsModule } from './load-jobs-module.ts';
import { runCell } from './run-cell.ts';

/** The program of a cell whose host was given the path of a jobs module. */
const orders = takeOrders();
if (orders?.jobs === undefined)
  throw new Error('this program is started by a worker; run `leasehold work <jobs module>`');
const { jobs } = orders;
runCell(orders, () => loadJobsModule(jobs));
