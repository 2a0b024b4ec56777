import * as z from 'zod/mini';
import { defineJob } from '../../lib/worker/define-job.ts';
import { createRegistry } from '../../lib/worker/registry.ts';

/** A jobs module that tells where it is loaded, for suites that bundle it. */
console.log('the top level runs');

const where = defineJob({
  type: 'where',
  payload: z.object({ ms: z.int() }),
  maxStallMs: 60_000,
  run({ payload }) {
    const until = performance.now() + payload.ms;
    while (performance.now() < until);
    return { isCell: process.channel !== undefined };
  },
});

export const registry = createRegistry([where]);
