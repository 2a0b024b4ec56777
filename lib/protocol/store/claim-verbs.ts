import { type ClaimOutcome, decideClaim } from '../decisions/decide-claim.ts';
import type { RunningJob } from '../job.ts';
import type { ClaimRequest, JobStore } from '../ports.ts';
import { parseJob } from '../rows/parse-row.ts';
import { rejectWrite } from '../writes/operator-writes.ts';
import type { BatchResult, WriteResult } from '../writes/row-write.ts';
import { claimWrite, scheduleWrite } from '../writes/worker-writes.ts';
import { lost, type StoreParts, wasApplied } from './store-parts.ts';

/** What becomes of a message: a claim, a row for later, or a row that says why it cannot be run. */
export function claimVerbs(parts: StoreParts): Pick<JobStore, 'claim' | 'claimMany' | 'schedule' | 'reject'> {
  const { table, clock, settings, context, expiresAt, shortened, fenced } = parts;
  const writeFor = ({ job, owner }: ClaimRequest) =>
    claimWrite({ job, owner, skewMs: settings.skewMs }, context());
  const claimed = (result: WriteResult, owner: string): ClaimOutcome =>
    result.applied
      ? { outcome: 'claimed', job: parseJob(result.row) as RunningJob }
      : decideClaim(result.row && parseJob(result.row), {
          owner,
          now: clock.now(),
          skewMs: settings.skewMs,
        });
  return {
    claim: async (request) => claimed(await table.apply(writeFor(request)), request.owner),

    async claimMany(requests) {
      const results = await table.applyMany(requests.map(writeFor));
      return requests.map(({ owner }, i) => {
        const result = results[i] as BatchResult;
        if (result.applied === 'failed') return { outcome: 'failed' as const, error: result.error };
        try {
          return claimed(result, owner);
        } catch (cause) {
          return { outcome: 'failed' as const, error: cause as Error };
        }
      });
    },

    async schedule(job, dispatch) {
      const write = scheduleWrite(job, dispatch, context());
      const result = await table.apply(write);
      const row = result.applied ? parseJob(result.row) : lost(result.row).job;
      return row?.status === 'pending' && wasApplied(write, result)
        ? { outcome: 'written', job: row }
        : { outcome: 'exists', job: row };
    },

    reject(message) {
      const at = context();
      const write = rejectWrite({ ...message, reason: shortened(message.reason) }, expiresAt(at.now), at);
      // Whoever wrote it: the same message is kept once.
      return fenced(write, () => true);
    },
  };
}
