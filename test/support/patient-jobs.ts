import * as z from 'zod/mini';
import { callService } from '../../examples/jobs/call-service.ts';
import { countPrimes } from '../../examples/jobs/count-primes.ts';
import { createRegistry, defineJob } from '../../lib/index.ts';

/** Runs until a service answers, and keeps its lease by heartbeats meanwhile. */
const awaitService = defineJob({
  type: 'await-service',
  payload: z.object({ url: z.url() }),
  async run({ payload }, { signal }) {
    await fetch(payload.url, { signal });
  },
});

const takeTurns = defineJob({ type: 'take-turns', limit: 1, payload: z.unknown(), run: () => {} });

/** Jobs that are done, that fail, and that last for as long as a test wants; and one that waits for its turn. */
export const registry = createRegistry([countPrimes, callService, awaitService, takeTurns]);
