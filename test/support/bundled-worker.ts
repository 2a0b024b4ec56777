import * as z from 'zod/mini';
import { defineJob } from '../../lib/worker/define-job.ts';
import { createWorkerHandler } from '../../lib/worker/hosts/worker-handler.ts';
import { createRegistry } from '../../lib/worker/registry.ts';

/** The entry of a worker function as a user would write it, for suites that bundle it into one file. */

const deadly = defineJob({
  type: 'deadly',
  payload: z.object({ deaths: z.int() }),
  run({ payload, attempt }) {
    if (attempt <= payload.deaths) process.exit(7);
    return { attempt, pid: process.pid };
  },
});

export const handler = createWorkerHandler(createRegistry([deadly]));
