import { describe, expect, it } from 'vitest';
import { systemRandom } from '../../lib/aws/clock.ts';
import type { JobStatus } from '../../lib/protocol/job.ts';
import type { Table } from '../../lib/protocol/ports.ts';
import { createJobStore } from '../../lib/protocol/store/job-store.ts';
import { type JobTransitionName, jobTransitions } from '../../lib/protocol/transitions.ts';
import type { RowWrite } from '../../lib/protocol/writes/row-write.ts';
import { arrange, drivers } from './drivers.ts';
import { contractSettings, type Harness } from './harness.ts';

const cases = Object.entries(jobTransitions).flatMap(([name, { from }]) =>
  from.map((status) => [name as JobTransitionName, status as JobStatus | 'absent'] as const),
);

/** The same place, behind a network that does with each write what it likes. */
function behind(harness: Harness, apply: Table['apply']): Harness {
  const table: Table = {
    ...harness.table,
    apply,
    applyMany: (writes) => Promise.all(writes.map((write) => apply(write))),
  };
  const { clock } = harness;
  const parts = { table, clock, random: systemRandom, settings: contractSettings, actor: 'tester' };
  return { ...harness, table, store: createJobStore(parts) };
}

/** The job goes to somebody else, whatever it was before. */
async function movesOn(harness: Harness, jobId: string): Promise<void> {
  const row = await harness.table.read(jobId);
  const leaseUntil = harness.clock.now() + 90_000;
  if (row === undefined) await harness.claimed(jobId, 'w/9');
  else
    await harness.put({
      ...row,
      ...{ status: 'running', leaseUntil, leaseOwner: 'w/9', changedBy: 'w/9' },
      ...{ attempt: Number(row.attempt) + 1, cancelRequested: false },
    });
}

/** Each transition, from wherever it may lead, when its request is lost, late or repeated. */
export function describeHeldUp(open: () => Harness): void {
  describe.each(cases)('%s of a job that is %s', (name, status) => {
    it('that is lost is no success, and one that is late changes nothing that has moved on', async () => {
      const harness = open();
      const at = await arrange(harness, name, status);
      const before = await harness.table.read(at.jobId);
      const held: RowWrite[] = [];
      const deaf = behind(harness, (write) => {
        held.push(write);
        return Promise.reject(new Error('no answer'));
      });
      await expect(drivers[name](deaf, at)).rejects.toThrow('no answer');
      expect(await harness.table.read(at.jobId)).toEqual(before);
      expect(held).not.toEqual([]);
      await movesOn(harness, at.jobId);
      const moved = await harness.table.read(at.jobId);
      for (const write of held) expect(await harness.table.apply(write)).toMatchObject({ applied: false });
      expect(await harness.table.read(at.jobId)).toEqual(moved);
    });

    it('that is repeated happens once', async () => {
      const harness = open();
      const at = await arrange(harness, name, status);
      const sent: RowWrite[] = [];
      const twice = behind(harness, (write) => {
        sent.push(write);
        return harness.table.apply(write);
      });
      expect(await drivers[name](twice, at)).toBe(true);
      const after = await harness.table.read(at.jobId);
      for (const write of sent) await harness.table.apply(write);
      expect(await harness.table.read(at.jobId)).toEqual(after);
    });
  });
}
