import * as jobs from 'leasehold-jobs-module';
import { registryIn } from '../cells/load-jobs-module.ts';
import { createWorkerHandler } from './lambda-host.ts';

/** The worker of a jobs module: whoever bundles this file says by an alias which module it is. */
export const handler = createWorkerHandler(registryIn(jobs, 'the jobs module'));
