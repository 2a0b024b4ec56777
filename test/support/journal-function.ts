import { createWorkerHandler } from '../../lib/worker/hosts/worker-handler.ts';
import { createRegistry } from '../../lib/worker/registry.ts';
import { journalJob } from './journal-job.ts';

/** A worker function whose jobs keep a journal, for suites that run it in the local Lambda host. */
export const handler = createWorkerHandler(createRegistry([journalJob]));
