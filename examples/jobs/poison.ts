import { setTimeout as sleep } from 'node:timers/promises';
import { defineJob } from 'leasehold';
import * as z from 'zod';

/** Kills the process that runs it, every time: the kind of job that takes a whole fleet down if nobody stops it. */
export const poison = defineJob({
  type: 'poison',
  payload: z.object({}),
  async run() {
    process.kill(process.pid, 'SIGKILL');
    await sleep(60_000);
  },
});
