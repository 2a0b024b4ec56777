import { afterAll } from 'vitest';
import { describeJobStore } from '../contract/job-store.ts';
import { describeOnEachEngine } from '../support/engines.ts';
import { type JobsTable, openJobsTable } from '../support/jobs-table.ts';

/** The contract as in test/integration/job-store.test.ts, with races short enough to be run for every mutant. */
describeOnEachEngine('the job store, in short', (engine) => {
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
    { rounds: 2, claimants: 8 },
  );
});
