import { planDispatch, planTakeBack } from '../decisions/dispatch.ts';
import type { Job } from '../job.ts';
import type { JobStore, OperatorOutcome } from '../ports.ts';
import { parseJob } from '../rows/parse-row.ts';
import { cancelWrite, reviveWrite, takeBackWrite } from '../writes/operator-writes.ts';
import type { RowWrite } from '../writes/row-write.ts';
import { hasExpired, type StoreParts, wasApplied } from './store-parts.ts';

const LOOKS = 3;

export function operatorVerbs(parts: StoreParts): Pick<JobStore, 'cancel' | 'revive' | 'takeBack'> {
  const { settings, context } = parts;
  return {
    cancel: (jobId) =>
      actOnJob(parts, jobId, (job) =>
        job.status === 'pending' || job.status === 'running' ? cancelWrite(job, context()) : undefined,
      ),

    revive: (jobId, options = {}) =>
      actOnJob(parts, jobId, (job) => {
        const isRevivable =
          (job.status === 'failed' && job.rawMessage === undefined) || job.status === 'cancelled';
        if (!isRevivable) return undefined;
        const at = context();
        const due = options.now === true ? at.now : (job.notBefore ?? at.now);
        return reviveWrite(job, planDispatch(at.now, due, settings), at);
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

/** Retries once if the job changed meanwhile. */
async function actOnJob(
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
  return looksLeft > 1 ? actOnJob(parts, jobId, plan, looksLeft - 1) : { outcome: 'refused', job };
}
