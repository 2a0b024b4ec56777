import { claimAttribute } from '../../wire/table.ts';
import { inParallel } from '../in-parallel.ts';
import type { Claim, ClaimEnd } from '../job.ts';
import type { HeartbeatOutcome, JobStore } from '../ports.ts';
import { isObject, type StoredText } from '../rows/data-pointer.ts';
import { shortenedError, toJsonText } from '../rows/json-text.ts';
import type { BatchResult, RowWrite, WriteResult } from '../writes/row-write.ts';
import {
  cancelRunningWrite,
  completeWrite,
  failWrite,
  heartbeatInBatchWrite,
  heartbeatWrite,
  releaseUnknownWrite,
  releaseWrite,
  restartWrite,
  retryWrite,
} from '../writes/worker-writes.ts';
import { checkpointVerb } from './checkpoint-verb.ts';
import { ClaimState } from './claim-state.ts';
import { grantedClaim } from './granted-claim.ts';
import {
  asFailure,
  fencedOutcome,
  isAtLeast,
  isHeldBy,
  isOf,
  lost,
  type Proof,
  type StoreParts,
} from './store-parts.ts';

/** A longer error goes to a data row, with its head on the job's row. */
const LONGEST_INLINE_ERROR = 250;
const WITH_DATA_AT_ONCE = 8;

/** Also proves an earlier call, because an outcome is retried and others may have changed the row since. */
const hasEnded =
  ({ owner, attempt }: Claim, outcome: ClaimEnd): Proof =>
  (row) => {
    const past = row[claimAttribute(attempt)];
    return isObject(past) && past.owner === owner && past.attempt === attempt && past.outcome === outcome;
  };

export function workerVerbs(parts: StoreParts) {
  const { table, data, context, fenced } = parts;

  const storedError = async ({ jobId, attempt }: Claim, error: string): Promise<StoredText> => {
    const text = shortenedError(error);
    if (Buffer.byteLength(text) <= LONGEST_INLINE_ERROR) return text;
    return data.put({ jobId, name: 'lastError', text, attempt });
  };

  const beaten = (claim: Claim, leaseUntil: number, { applied, row }: WriteResult): HeartbeatOutcome => {
    const stands = applied || (row && isHeldBy(claim, row) && isAtLeast(row.leaseUntil, leaseUntil));
    return stands ? { outcome: 'extended', cancelRequested: row?.cancelRequested === true } : lost(row);
  };
  const heartbeat: JobStore['heartbeat'] = async (claim, leaseUntil) =>
    beaten(claim, leaseUntil, await table.apply(heartbeatWrite(claim, leaseUntil, context())));

  return {
    ...completions(parts),
    checkpoint: checkpointVerb(parts),

    heartbeat,

    async heartbeatMany(beats) {
      const at = context();
      const writes = beats.map(({ claim, leaseUntil }) => heartbeatInBatchWrite(claim, leaseUntil, at));
      const results = await table.applyMany(writes);
      return Promise.all(
        beats.map(({ claim, leaseUntil }, i) => {
          const result = results[i] as BatchResult;
          if (result.applied === 'failed') return asFailure(result.error);
          const { row } = result;
          const isMine = !result.applied && row !== undefined && isHeldBy(claim, row);
          // Still mine, so cancellation was requested; a single heartbeat reports that.
          if (isMine && !isAtLeast(row.leaseUntil, leaseUntil))
            return heartbeat(claim, leaseUntil).catch(asFailure);
          return beaten(claim, leaseUntil, result);
        }),
      );
    },

    async retry(claim, next) {
      const lastError = await storedError(claim, next.lastError);
      return fenced(retryWrite(claim, { ...next, lastError }, context()), hasEnded(claim, 'retried'));
    },

    async fail(claim, end) {
      const lastError = await storedError(claim, end.lastError);
      return fenced(failWrite(claim, { ...end, lastError }, context()), hasEnded(claim, 'failed'));
    },

    async release(claim, next) {
      const lastError = next.lastError && (await storedError(claim, next.lastError));
      return fenced(releaseWrite(claim, { ...next, lastError }, context()), hasEnded(claim, 'released'));
    },

    async restart(claim, next) {
      const lastError = await storedError(claim, next.lastError);
      const result = await table.apply(restartWrite(claim, { ...next, lastError }, context()));
      const { row } = result;
      const isMine =
        row !== undefined && isHeldBy({ ...claim, owner: next.owner, attempt: claim.attempt + 1 }, row);
      if (row !== undefined && (result.applied || isMine)) {
        const outcome = await grantedClaim(parts, row);
        if (outcome.outcome === 'claimed') return { outcome: 'restarted', job: outcome.job };
        return outcome.outcome === 'withoutData' ? outcome : lost(row);
      }
      if (row !== undefined && isHeldBy(claim, row) && row.cancelRequested === true)
        return { outcome: 'cancelRequested' };
      return lost(row);
    },

    releaseUnknown: (jobId, owner, dispatch) =>
      fenced(releaseUnknownWrite(jobId, owner, dispatch, context())),

    cancelRunning: (claim) => fenced(cancelRunningWrite(claim, context()), hasEnded(claim, 'cancelled')),
  } satisfies Partial<JobStore>;
}

function completions({
  table,
  data,
  settings,
  context,
  fenced,
}: StoreParts): Pick<JobStore, 'complete' | 'completeMany'> {
  const writeFor = async ({ claim, ...values }: Parameters<JobStore['completeMany']>[0][number]) => {
    const { result: returned, progress: reported } = values;
    if (returned === undefined && reported === undefined) return completeWrite(claim, undefined, context());
    const { jobId, attempt } = claim;
    const state = new ClaimState(claim);
    const kept = async (name: 'progress' | 'result', limit: number): Promise<StoredText | undefined> => {
      const value = values[name];
      if (value === undefined) return undefined;
      const text = toJsonText(name, value, limit);
      return state.hasRoomFor(name, text) ? text : data.put({ jobId, name, text, attempt });
    };
    const progress = await kept('progress', settings.maxCheckpointBytes);
    if (progress !== undefined) state.wrote('progress', progress);
    const result = await kept('result', settings.maxResultBytes);
    return completeWrite(claim, result, context(), progress);
  };
  const isDoneBy =
    (claim: Claim): Proof =>
    (row) =>
      row.status === 'done' && isOf(claim, row);
  return {
    complete: async (claim, result, progress) =>
      fenced(await writeFor({ claim, result, progress }), isDoneBy(claim)),

    async completeMany(ends) {
      const writes: (RowWrite | Error)[] = [];
      await inParallel([...ends.entries()], WITH_DATA_AT_ONCE, async ([i, end]) => {
        writes[i] = await writeFor(end).catch((error: Error) => error);
      });
      const ready = writes.filter((write): write is RowWrite => !(write instanceof Error));
      const results = await table.applyMany(ready);
      let next = 0;
      return ends.map(({ claim }, i) => {
        const write = writes[i] as RowWrite | Error;
        if (write instanceof Error) return asFailure(write);
        const result = results[next++] as BatchResult;
        return result.applied === 'failed'
          ? asFailure(result.error)
          : fencedOutcome(write, result, isDoneBy(claim));
      });
    },
  };
}
