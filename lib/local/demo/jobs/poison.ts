import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod/mini';
import { defineJob } from '../../../worker/define-job.ts';

/** Kills the process that runs it, every time: the kind of job that takes a whole fleet down if nobody stops it. */
export const poison = defineJob({
  type: 'poison',
  payload: z.object({}),
  async run() {
    process.kill(process.pid, 'SIGKILL');
    await sleep(60_000);
  },
});
