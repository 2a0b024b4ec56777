import { afterAll } from 'vitest';
import { describeEngineDifferences, describeJobStore } from '../contract/job-store.ts';
import { atDepth, isDeep } from '../support/depth.ts';
import { anyEngine, describeOnEachEngine } from '../support/engines.ts';
import { type JobsTable, openJobsTable } from '../support/jobs-table.ts';

describeOnEachEngine('the job store', (engine) => {
  const opened: JobsTable[] = [];
  afterAll(async () => {
    for (const each of opened) await each.close();
  });

  const isWhole = isDeep || engine.endpoint === anyEngine().endpoint;
  const describeStore = isWhole ? describeJobStore : describeEngineDifferences;
  describeStore(
    async (batches) => {
      const jobs = await openJobsTable(engine.endpoint);
      opened.push(jobs);
      return { table: jobs.at({ batches }), put: jobs.put };
    },
    { rounds: atDepth(10, 200), claimants: atDepth(16, 64) },
  );
});
