import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod/mini';
import { defineJob } from '../../lib/worker/define-job.ts';
import { createRegistry } from '../../lib/worker/registry.ts';

const harmless = defineJob({
  type: 'harmless',
  payload: z.object({ ms: z.int() }),
  async run({ payload, attempt }) {
    await sleep(payload.ms);
    return { attempt };
  },
});

/** Kills its process after its neighbors have started. */
const poison = defineJob({
  type: 'poison',
  payload: z.unknown(),
  async run() {
    await sleep(300);
    process.kill(process.pid, 'SIGKILL');
  },
});

export const registry = createRegistry([harmless, poison]);
