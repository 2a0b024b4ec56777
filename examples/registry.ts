import { createRegistry } from 'leasehold';
import { callService } from './jobs/call-service.ts';
import { checksumFile } from './jobs/checksum-file.ts';
import { countPrimes } from './jobs/count-primes.ts';

/** Every job type of the examples: one line each. */
export const registry = createRegistry([checksumFile, callService, countPrimes]);
