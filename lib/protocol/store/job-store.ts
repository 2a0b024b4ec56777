import { isJobId } from '../../wire/message.ts';
import type { Job } from '../job.ts';
import { limitVerbs } from '../limits/limit-verbs.ts';
import type { JobStore } from '../ports.ts';
import { parseJob } from '../rows/parse-row.ts';
import { badMessageKey } from '../writes/operator-writes.ts';
import { claimVerbs } from './claim-verbs.ts';
import { operatorVerbs } from './operator-verbs.ts';
import { reaperVerbs } from './reaper-verbs.ts';
import { createStoreParts, hasExpired, type JobStoreOptions, type StoreParts } from './store-parts.ts';
import { workerVerbs } from './worker-verbs.ts';

export function createJobStore(options: JobStoreOptions): JobStore {
  const parts = createStoreParts(options);
  return {
    ...claimVerbs(parts),
    ...workerVerbs(parts),
    ...reaperVerbs(parts),
    ...operatorVerbs(parts),
    ...limitVerbs(parts),

    read: async (jobId) => {
      const job = await readOne(parts, jobId);
      // A rejected message that named this id has a separate row.
      return job ?? (isJobId(jobId) ? readOne(parts, badMessageKey(jobId)) : undefined);
    },
  };
}

async function readOne({ table, data, clock }: StoreParts, jobId: string): Promise<Job | undefined> {
  const row = await table.read(jobId);
  if (row === undefined) return undefined;
  const job = parseJob((await data.resolve(row)).row);
  return hasExpired(job, clock.now()) ? undefined : job;
}
