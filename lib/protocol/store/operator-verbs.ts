import { planDispatch, planTakeBack } from '../decisions/dispatch.ts';
import type { Job } from '../job.ts';
import type { JobStore, OperatorOutcome } from '../ports.ts';
import { type DataName, type DataPointer, pointersOf } from '../rows/data-pointer.ts';
import { parseJob } from '../rows/parse-row.ts';
import { cancelWrite, reviveWrite, takeBackWrite } from '../writes/operator-writes.ts';
import type { Row, RowWrite } from '../writes/row-write.ts';
import { hasExpired, type StoreParts, wasApplied } from './store-parts.ts';

const LOOKS = 3;

/** What an operator may do with a job. */
export function operatorVerbs(parts: StoreParts): Pick<JobStore, 'cancel' | 'revive' | 'takeBack'> {
  const { settings, context, expiresAt } = parts;
  return {
    cancel: (jobId) =>
      actOnJob(parts, jobId, (job) => {
        const at = context();
        return job.status === 'pending' || job.status === 'running'
          ? cancelWrite(job, expiresAt(at.now), at)
          : undefined;
      }),

    revive: (jobId, options = {}) =>
      actOnJob(parts, jobId, async (job, row) => {
        const isRevivable =
          (job.status === 'failed' && job.rawMessage === undefined) || job.status === 'cancelled';
        if (!isRevivable) return undefined;
        const at = context();
        const due = options.now === true ? at.now : (job.notBefore ?? at.now);
        return reviveWrite(job, planDispatch(at.now, due, settings), at, await renewedData(parts, row, due));
      }),

    takeBack: (jobId) =>
      actOnJob(parts, jobId, (job) => {
        const at = context();
        return job.status === 'running'
          ? takeBackWrite(job, planTakeBack(job.startedAt, at.now, settings), at)
          : undefined;
      }),
  };
}

/** Reads, then writes on the condition that nothing changed; a job that moves meanwhile is looked at once more. */
async function actOnJob(
  parts: StoreParts,
  jobId: string,
  plan: (job: Job, row: Row) => RowWrite | undefined | Promise<RowWrite | undefined>,
  looksLeft = LOOKS,
): Promise<OperatorOutcome> {
  const { table, clock } = parts;
  const row = await table.read(jobId);
  const job = row && parseJob(row);
  if (row === undefined || job === undefined || hasExpired(job, clock.now())) return { outcome: 'absent' };
  const write = await plan(job, row);
  if (write === undefined) return { outcome: 'refused', job };
  const result = await table.apply(write);
  if (wasApplied(write, result)) return { outcome: 'written', job: parseJob(result.row) };
  return looksLeft > 1 ? actOnJob(parts, jobId, plan, looksLeft - 1) : { outcome: 'refused', job };
}

/** Copies of data that would expire before a revived job is done with it. What is gone already fails the job when it is claimed. */
async function renewedData(
  { data }: StoreParts,
  row: Row,
  notBefore: number,
): Promise<Partial<Record<DataName, DataPointer>>> {
  const old = pointersOf(row).filter(([, pointer]) => data.expiresSoon(pointer));
  const { row: whole } = await data.resolve(
    row,
    old.map(([name]) => name),
  );
  const renewed: Partial<Record<DataName, DataPointer>> = {};
  for (const [name] of old) {
    const text = whole[name];
    if (typeof text === 'string')
      renewed[name] = await data.put({
        jobId: String(row.jobId),
        name,
        text,
        notBefore,
        attempt: Number(row.attempt),
      });
  }
  return renewed;
}
