import { callService } from '../../../examples/call-service.ts';
import { checksumFile } from '../../../examples/checksum-file.ts';
import { countPrimes } from '../../../examples/count-primes.ts';
import { createWorkerHandler } from '../../worker/lambda-host.ts';
import { createRegistry } from '../../worker/registry.ts';
import { poison, slowSteps } from './jobs.ts';

/** The worker of `leasehold dev`: the examples, a job to kill, and a job that kills. */
export const handler = createWorkerHandler(
  createRegistry([checksumFile, callService, countPrimes, slowSteps, poison]),
);
