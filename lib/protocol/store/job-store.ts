import type { JobStore } from '../ports.ts';
import { parseJob } from '../rows/parse-row.ts';
import { claimVerbs } from './claim-verbs.ts';
import { operatorVerbs } from './operator-verbs.ts';
import { reaperVerbs } from './reaper-verbs.ts';
import { createStoreParts, hasExpired, type JobStoreOptions } from './store-parts.ts';
import { workerVerbs } from './worker-verbs.ts';

/** The protocol on top of a table. */
export function createJobStore(options: JobStoreOptions): JobStore {
  const parts = createStoreParts(options);
  const { table, clock } = parts;
  return {
    ...claimVerbs(parts),
    ...workerVerbs(parts),
    ...reaperVerbs(parts),
    ...operatorVerbs(parts),

    async read(jobId) {
      const row = await table.read(jobId);
      const job = row && parseJob(row);
      return job === undefined || hasExpired(job, clock.now()) ? undefined : job;
    },
  };
}
