import { defineJob } from '../../lib/worker/define-job.ts';
import { createRegistry } from '../../lib/worker/registry.ts';
import { journalJob } from './journal-job.ts';

/** Jobs that keep a journal, also under limits. */
export const registry = createRegistry([
  journalJob,
  defineJob({ ...journalJob, type: 'two-at-once', limit: 2 }),
  defineJob({ ...journalJob, type: 'one-of-a-key', limit: { perKey: 1 } }),
]);
