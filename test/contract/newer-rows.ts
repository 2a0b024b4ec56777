import { expect, it } from 'vitest';
import { ROW_FORMAT } from '../../lib/wire/table.ts';
import { newJob } from '../support/jobs.ts';
import { rowOf } from './data-harness.ts';
import { entryOf, type Harness } from './harness.ts';

/** A version that was rolled back meets rows of the newer one. */
export function describeNewerRows(open: () => Harness): void {
  it('is left alone by workers, reapers and operators, and they say so', async () => {
    const harness = open();
    const [pending, running] = [harness.jobId(), harness.jobId()];
    await harness.prepared('pending', pending);
    await harness.prepared('running', running);
    for (const jobId of [pending, running])
      await harness.put({ ...(await rowOf(harness, jobId)), format: ROW_FORMAT + 1 });
    const before = await Promise.all([pending, running].map((jobId) => harness.table.read(jobId)));
    const claims = await harness.store.claimMany([
      { job: newJob(pending), owner: 'w/9' },
      { job: { jobId: running }, owner: 'w/9' },
    ]);
    expect(claims).toMatchObject([{ outcome: 'newer' }, { outcome: 'newer' }]);
    const entries = before.map((row) => entryOf({ ...row, format: ROW_FORMAT }));
    const dispatch = harness.dispatch();
    const verdicts = entries.map((entry) => ({ entry, action: { kind: 'redispatch' as const, dispatch } }));
    expect(await harness.store.reapMany(verdicts)).toMatchObject([
      { outcome: 'newer', error: { code: 'NEWER_FORMAT' } },
      { outcome: 'newer', error: { code: 'NEWER_FORMAT' } },
    ]);
    for (const verb of ['cancel', 'revive', 'takeBack'] as const)
      await expect(harness.store[verb](running)).rejects.toMatchObject({ code: 'NEWER_FORMAT' });
    expect(await Promise.all([pending, running].map((jobId) => harness.table.read(jobId)))).toEqual(before);
  });
}
