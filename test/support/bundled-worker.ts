import * as z from 'zod/mini';
import { defineJob } from '../../lib/worker/define-job.ts';
import { createWorkerHandler } from '../../lib/worker/hosts/lambda-host.ts';
import { createRegistry } from '../../lib/worker/registry.ts';

/** The entry of a worker function as a user would write it, for suites that bundle it into one file. */

const busy = defineJob({
  type: 'busy',
  payload: z.object({ ms: z.int() }),
  maxStallMs: 60_000,
  run({ payload, attempt }) {
    const until = performance.now() + payload.ms;
    while (performance.now() < until);
    return { attempt };
  },
});

export const handler = createWorkerHandler(createRegistry([busy]));
