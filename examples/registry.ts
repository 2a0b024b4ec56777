import { callService } from '../lib/local/demo/jobs/call-service.ts';
import { checksumFile } from '../lib/local/demo/jobs/checksum-file.ts';
import { countPrimes } from '../lib/local/demo/jobs/count-primes.ts';
import { createRegistry } from '../lib/worker/registry.ts';

/** Every job type of the examples: one line each. */
export const registry = createRegistry([checksumFile, callService, countPrimes]);
