import { readdirSync } from 'node:fs';
import * as z from 'zod/mini';
import { defineJob } from '../../lib/worker/define-job.ts';
import { createRegistry } from '../../lib/worker/registry.ts';

/** Reports what a handler finds, and logs at every level. */
const look = defineJob({
  type: 'look',
  payload: z.object({}),
  run(_, { log }) {
    log.info('from the handler');
    log.warn('from the handler');
    const { NODE_OPTIONS } = process.env;
    return { NODE_OPTIONS, devices: readdirSync('/dev/fd'), stack: new Error('mapped').stack };
  },
});

export const registry = createRegistry([look]);
