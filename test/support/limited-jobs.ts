import { createRegistry } from '../../lib/worker/registry.ts';
import { journalJob } from './journal-job.ts';

/** Jobs that keep a journal, of which few may run at once. */
export const registry = createRegistry([
  { ...journalJob, type: 'two', limit: 2 },
  { ...journalJob, type: 'keyed', limit: { perKey: 1 } },
]);
