import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeOnEachEngine } from '../support/engines.ts';
import { type JobsTable, openJobsTable } from '../support/jobs-table.ts';

describeOnEachEngine('a refused write', ({ endpoint }) => {
  let jobs: JobsTable;
  beforeAll(async () => {
    jobs = await openJobsTable(endpoint);
  });
  afterAll(() => jobs.close());

  it('comes back with the row that refused it, nested attributes included', async () => {
    const write = {
      transition: 'complete',
      jobId: 'a',
      when: [[{ attribute: 'jobId', is: 'absent' }]],
      set: { status: 'done', attempt: 3, claim03: { owner: 'w/1', from: 1 } },
      returns: 'nothing',
    } as const;
    expect((await jobs.at().apply(write)).applied).toBe(true);
    expect(await jobs.at().apply(write)).toEqual({
      applied: false,
      row: { jobId: 'a', status: 'done', attempt: 3, claim03: { owner: 'w/1', from: 1 } },
    });
  });
});
