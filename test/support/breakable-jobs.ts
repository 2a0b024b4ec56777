import { createRegistry } from 'leasehold';
import { callService } from '../../examples/jobs/call-service.ts';
import { countPrimes } from '../../examples/jobs/count-primes.ts';
import { poison } from '../../examples/jobs/poison.ts';

/** Jobs that are done, that fail, and that kill whatever they run in. */
export const registry = createRegistry([countPrimes, callService, poison]);
