import { createRegistry } from 'leasehold';
import { createWorkerHandler } from 'leasehold/worker';
import { callService } from './jobs/call-service.ts';
import { checksumFile } from './jobs/checksum-file.ts';
import { countPrimes } from './jobs/count-primes.ts';
import { poison } from './jobs/poison.ts';
import { slowSteps } from './jobs/slow-steps.ts';

/** The worker of `leasehold dev`: the examples, a job to kill, and a job that kills. */
export const handler = createWorkerHandler(
  createRegistry([checksumFile, callService, countPrimes, slowSteps, poison]),
);
