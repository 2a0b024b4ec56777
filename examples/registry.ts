import { createRegistry } from '../lib/worker/registry.ts';
import { callService } from './call-service.ts';
import { checksumFile } from './checksum-file.ts';
import { countPrimes } from './count-primes.ts';

/** Every job type of the examples: one line each. */
export const registry = createRegistry([checksumFile, callService, countPrimes]);
