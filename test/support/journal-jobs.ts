import { createRegistry } from '../../lib/worker/registry.ts';
import { journalJob } from './journal-job.ts';

/** Jobs that keep a journal. */
export const registry = createRegistry([journalJob]);
