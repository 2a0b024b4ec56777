import fc from 'fast-check';
import { afterAll, beforeAll, it } from 'vitest';
import { liveThrough, moves } from '../contract/random-lives.ts';
import { atDepth } from '../support/depth.ts';
import { describeOnEachEngine, uniqueName } from '../support/engines.ts';
import { type JobsTable, openJobsTable } from '../support/jobs-table.ts';

describeOnEachEngine('whatever happens to a job', (engine) => {
  let jobs: JobsTable;
  beforeAll(async () => {
    jobs = await openJobsTable(engine.endpoint);
  });
  afterAll(() => jobs.close());

  it('it has one owner at most, never loses count, ends once, stays in the index until it ends, and within its budgets', async () => {
    await fc.assert(
      fc.asyncProperty(moves, (script) => liveThrough(jobs.at(), uniqueName('j'), script)),
      { numRuns: atDepth(5, 40), endOnFailure: true },
    );
  }, 180_000);
});
