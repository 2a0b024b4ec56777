import { z } from 'zod/mini';
import { defineJob } from '../../lib/worker/define-job.ts';
import { createRegistry } from '../../lib/worker/registry.ts';
import { DEATHS } from './deaths.ts';
import { perform } from './measured-process.ts';

/** The one job of the benchmark, as Leasehold's cells load it. */
export const registry = createRegistry([
  defineJob({
    type: 'bench',
    payload: z.object({
      id: z.string(),
      does: z.enum(['nothing', 'sleep', 'burn', 'die', 'spin']),
      ms: z.number(),
      how: z.optional(z.enum(DEATHS)),
      once: z.optional(z.string()),
    }),
    run: (job, { signal }) => perform(job.payload, signal),
  }),
]);
