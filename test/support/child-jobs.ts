import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod/mini';
import { registry as examples } from '../../examples/registry.ts';
import { defineJob } from '../../lib/worker/define-job.ts';
import { createRegistry } from '../../lib/worker/registry.ts';

/** The jobs of a worker process for suites that kill it and its cells. */

const harmless = defineJob({
  type: 'harmless',
  payload: z.object({ ms: z.int() }),
  async run({ payload, attempt }) {
    await sleep(payload.ms);
    return { attempt };
  },
});

/** Kills its process after its neighbours have started. */
const poison = defineJob({
  type: 'poison',
  payload: z.object({ how: z.enum(['exit', 'SIGKILL']) }),
  async run({ payload }) {
    await sleep(300);
    if (payload.how === 'exit') process.exit(1);
    process.kill(process.pid, 'SIGKILL');
  },
});

/** Works until a file is there. */
const wait = defineJob({
  type: 'wait',
  payload: z.object({ file: z.string() }),
  async run({ payload, attempt }, { signal }) {
    while (!existsSync(payload.file)) {
      signal.throwIfAborted();
      await sleep(20);
    }
    return { attempt };
  },
});

/** Never lets go of the event loop. */
const spin = defineJob({
  type: 'spin',
  payload: z.unknown(),
  maxStallMs: 1000,
  run() {
    for (;;);
  },
});

/** Counts slowly, and goes on from its checkpoint. */
const slow = defineJob({
  type: 'slow',
  payload: z.object({ steps: z.int(), ms: z.int() }),
  checkpoint: z.object({ step: z.int() }),
  async run({ payload, checkpoint }, { signal, save }) {
    const from = checkpoint?.step ?? 0;
    for (let step = from; step < payload.steps; step++) {
      await sleep(payload.ms);
      await save({ step: step + 1 });
      signal.throwIfAborted();
    }
    return { from };
  },
});

export const registry = createRegistry([...examples.definitions, harmless, poison, wait, spin, slow]);
