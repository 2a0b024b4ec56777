import { planTakeBack } from '../decisions/dispatch.ts';
import type { Job } from '../job.ts';
import type { JobStore, OperatorOutcome } from '../ports.ts';
import { parseJob } from '../rows/parse-row.ts';
import { cancelWrite, reviveWrite, takeBackWrite } from '../writes/operator-writes.ts';
import type { RowWrite } from '../writes/row-write.ts';
import { hasExpired, type StoreParts, wasApplied } from './store-parts.ts';

const LOOKS = 3;

/** What an operator may do with a job. */
export function operatorVerbs(parts: StoreParts): Pick<JobStore, 'cancel' | 'revive' | 'takeBack'> {
  const { settings, context, expiresAt } = parts;
  return {
    cancel: (jobId) =>
      operate(parts, jobId, (job) => {
        const at = context();
        return job.status === 'pending' || job.status === 'running'
          ? cancelWrite(job, expiresAt(at.now), at)
          : undefined;
      }),

    revive: (jobId, dispatch) =>
      operate(parts, jobId, (job) =>
        (job.status === 'failed' && job.rawMessage === undefined) || job.status === 'cancelled'
          ? reviveWrite(job, dispatch, context())
          : undefined,
      ),

    takeBack: (jobId) =>
      operate(parts, jobId, (job) => {
        const at = context();
        return job.status === 'running'
          ? takeBackWrite(job, planTakeBack(job.startedAt, at.now, settings), at)
          : undefined;
      }),
  };
}

/** Reads, then writes on the condition that nothing changed; a job that moves meanwhile is looked at once more. */
async function operate(
  parts: StoreParts,
  jobId: string,
  plan: (job: Job) => RowWrite | undefined,
  looksLeft = LOOKS,
): Promise<OperatorOutcome> {
  const { table, clock } = parts;
  const row = await table.read(jobId);
  const job = row && parseJob(row);
  if (job === undefined || hasExpired(job, clock.now())) return { outcome: 'absent' };
  const write = plan(job);
  if (write === undefined) return { outcome: 'refused', job };
  const result = await table.apply(write);
  if (wasApplied(write, result)) return { outcome: 'written', job: parseJob(result.row) };
  return looksLeft > 1 ? operate(parts, jobId, plan, looksLeft - 1) : { outcome: 'refused', job };
}
