import { setTimeout as sleep } from 'node:timers/promises';
import { defineJob } from 'leasehold';
import * as z from 'zod';

/** Works in steps of a given length, and keeps its place after each: what a killed worker leaves behind is at most one step. */
export const slowSteps = defineJob({
  type: 'slow-steps',
  payload: z.object({
    steps: z.int().min(1).max(10_000),
    stepMs: z.int().min(0).max(60_000),
  }),
  checkpoint: z.object({ step: z.int() }),
  async run({ payload, checkpoint }, { signal, save, progress }) {
    const from = checkpoint?.step ?? 0;
    for (let step = from; step < payload.steps; step++) {
      await sleep(payload.stepMs, undefined, { signal });
      progress({ step: step + 1, of: payload.steps });
      if (step + 1 < payload.steps) await save({ step: step + 1 });
    }
    return { steps: payload.steps, resumedAt: from };
  },
});
