import { AsyncLocalStorage } from 'node:async_hooks';
import { createRegistry, defineJob } from '../../lib/index.ts';

const inside = new AsyncLocalStorage<string>();

const told = defineJob({ type: 'told', run: () => ({ inside: inside.getStore() ?? null }) });

export const registry = createRegistry([told], {
  around: (job, run) => inside.run(`${job.type} ${job.jobId} #${job.attempt}`, run),
});
