import { describe, expect, it } from 'vitest';
import type { JobStatus } from '../../lib/protocol/job.ts';
import { type JobTransitionName, jobTransitions, type Transition } from '../../lib/protocol/transitions.ts';
import { arrange, drivers } from './drivers.ts';
import type { Harness } from './harness.ts';

const EVERYWHERE: readonly (JobStatus | 'absent')[] = [
  'absent',
  'pending',
  'running',
  'done',
  'failed',
  'cancelled',
];

/** Successes that a row proves by itself: saying them again is no second success, and changes nothing. */
const PROVEN: Partial<Record<JobTransitionName, readonly string[]>> = {
  complete: ['done'],
  fail: ['failed'],
  release: ['pending'],
  cancelRunning: ['cancelled'],
  reject: ['pending', 'running', 'done', 'failed', 'cancelled'],
};

/** Each transition leads from where the table says to where it says, and from nowhere else. */
export function describeTransitions(open: () => Harness): void {
  describe.each(Object.entries(jobTransitions) as [JobTransitionName, Transition][])(
    '%s',
    (name, transition) => {
      it.each(EVERYWHERE)('from %s does what the table says', async (status) => {
        const harness = open();
        const at = await arrange(harness, name, status);
        const before = await harness.table.read(at.jobId);
        const reported = await drivers[name](harness, at);
        const after = await harness.table.read(at.jobId);
        if (!transition.from.includes(status)) {
          expect(after).toEqual(before);
          expect(reported).toBe(PROVEN[name]?.includes(status) ?? false);
          return;
        }
        expect(reported).toBe(true);
        expect(after?.status).toBe(transition.to === 'same' ? status : transition.to);
        expect(after?.changedBy).not.toBe(before?.changedBy);
        await expectIndexed(harness, at.jobId);
      });
    },
  );

  it.each(EVERYWHERE.filter((status) => status !== 'absent'))(
    'a %s job is in the indexes that its status says',
    async (status) => {
      const harness = open();
      const jobId = harness.jobId();
      await harness.prepared(status, jobId);
      await expectIndexed(harness, jobId);
    },
  );
}

/** The shards that are swept hold exactly the unfinished jobs, the others exactly the failed ones. */
export async function expectIndexed(harness: Harness, jobId: string): Promise<void> {
  const row = await harness.table.read(jobId);
  const entry = await harness.leaseOf(jobId);
  const unfinished = row?.status === 'pending' || row?.status === 'running';
  expect(row?.leaseUntil !== undefined).toBe(unfinished || row?.status === 'failed');
  expect(row?.expiresAt === undefined && row?.finishedAt === undefined).toBe(unfinished);
  if (unfinished)
    expect(entry).toMatchObject({ status: row.status, leaseUntil: row.leaseUntil, attempt: row.attempt });
  else expect(entry).toBeUndefined();
  if (unfinished) expect(entry?.leaseShard.startsWith(row.status === 'running' ? 'r' : 'q')).toBe(true);
  expect(await harness.isListedAsFailure(jobId)).toBe(row?.status === 'failed');
}
