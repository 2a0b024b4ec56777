import { afterAll } from 'vitest';
import { describeJobStore } from '../contract/job-store.ts';
import { atDepth } from '../support/depth.ts';
import { describeOnEachEngine } from '../support/engines.ts';
import { type JobsTable, openJobsTable } from '../support/jobs-table.ts';

describeOnEachEngine('the job store', (engine) => {
  const opened: JobsTable[] = [];
  afterAll(async () => {
    for (const each of opened) await each.close();
  });

  describeJobStore(
    async (batches) => {
      const jobs = await openJobsTable(engine.endpoint);
      opened.push(jobs);
      return { table: jobs.at({ batches }), put: jobs.put };
    },
    { rounds: atDepth(10, 200), claimants: atDepth(16, 64) },
  );
});
