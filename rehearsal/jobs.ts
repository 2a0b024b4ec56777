import { setTimeout as sleep } from 'node:timers/promises';
import { createRegistry, defineJob, NonRetryableError } from '../lib/index.ts';

const quick = defineJob({ type: 'quick', async run() {} });

/** Its first attempt runs until its worker is killed. */
const hold = defineJob({
  type: 'hold',
  async run({ attempt }, { signal }) {
    if (attempt === 1) await sleep(3_600_000, undefined, { signal });
  },
});

/** Allocates memory outside the heap until the host kills the cell. */
const buffers = defineJob({
  type: 'buffers',
  async run() {
    const kept: Buffer[] = [];
    for (;;) {
      kept.push(Buffer.alloc(16 * 1024 * 1024, 1));
      await sleep(5);
    }
  },
});

/** Allocates memory on the heap until V8 ends the process. */
const objects = defineJob({
  type: 'objects',
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
  async run() {
    process.exit(3);
  },
});

const fail = defineJob({
  type: 'fail',
  async run() {
    throw new NonRetryableError('the rehearsal asked for a failure');
  },
});

const where = defineJob({
  type: 'where',
  async run() {
    return process.env.LEASEHOLD_POOL ?? 'none';
  },
});

export const registry = createRegistry([quick, where, hold, buffers, objects, exit, fail]);
