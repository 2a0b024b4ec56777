import { createRegistry } from 'leasehold';
import { callService } from './jobs/call-service.ts';
import { checksumFile } from './jobs/checksum-file.ts';
import { countPrimes } from './jobs/count-primes.ts';
import { poison } from './jobs/poison.ts';
import { slowSteps } from './jobs/slow-steps.ts';

/** The jobs of `leasehold dev`: the examples, a job to kill, and a job that kills. */
export const registry = createRegistry([checksumFile, callService, countPrimes, slowSteps, poison]);
