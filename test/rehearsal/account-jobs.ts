import { setTimeout as sleep } from 'node:timers/promises';
import { createRegistry, defineJob } from 'leasehold';
import * as z from 'zod/mini';

const nothing = z.object({});

/** Done at once. */
const quick = defineJob({ type: 'quick', payload: nothing, async run() {} });

/** Memory outside of the heap, until somebody acts. */
const buffers = defineJob({
  type: 'buffers',
  payload: nothing,
  async run() {
    const kept: Buffer[] = [];
    for (;;) {
      kept.push(Buffer.alloc(16 * 1024 * 1024, 1));
      await sleep(5);
    }
  },
});

/** Memory of the heap, until V8 ends the process. */
const objects = defineJob({
  type: 'objects',
  payload: nothing,
  async run() {
    const kept: object[] = [];
    for (;;) {
      for (let n = 0; n < 200_000; n++) kept.push({ n, text: `${n}` });
      await sleep(0);
    }
  },
});

const exit = defineJob({
  type: 'exit',
  payload: nothing,
  async run() {
    process.exit(3);
  },
});

export const registry = createRegistry([quick, buffers, objects, exit]);
