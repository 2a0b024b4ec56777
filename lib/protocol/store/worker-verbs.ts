import type { JsonValue } from '../../wire/message.ts';
import { inParallel } from '../in-parallel.ts';
import type { Claim } from '../job.ts';
import type { HeartbeatOutcome, JobStore } from '../ports.ts';
import type { StoredText } from '../rows/data-pointer.ts';
import { toJsonText } from '../rows/json-text.ts';
import type { BatchResult, RowWrite, WriteResult } from '../writes/row-write.ts';
import {
  cancelPendingWrite,
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
import { createDataRenewal } from './renew-data.ts';
import {
  fencedOutcome,
  isAtLeast,
  isHeldBy,
  isOf,
  lost,
  type Proof,
  type StoreParts,
} from './store-parts.ts';

type WorkerVerb =
  | 'heartbeat'
  | 'heartbeatMany'
  | 'checkpoint'
  | 'complete'
  | 'completeMany'
  | 'retry'
  | 'fail'
  | 'restart'
  | 'release'
  | 'releaseUnknown'
  | 'cancelRunning'
  | 'cancelPending';

/** An error longer than this is kept in a row of its own, and its beginning on the job's. */
const LONGEST_INLINE_ERROR = 250;
const WITH_DATA_AT_ONCE = 8;

/** What the holder of a claim may do with it. */
export function workerVerbs(parts: StoreParts): Pick<JobStore, WorkerVerb> {
  const { table, data, context, expiresAt, shortened, fenced } = parts;
  const renewData = createDataRenewal(parts);

  const storedError = async ({ jobId, attempt }: Claim, error: string): Promise<StoredText> => {
    const text = shortened(error);
    if (Buffer.byteLength(text) <= LONGEST_INLINE_ERROR) return text;
    return data.put({ jobId, name: 'lastError', text, attempt });
  };

  const beaten = (claim: Claim, leaseUntil: number, { applied, row }: WriteResult): HeartbeatOutcome => {
    const stands = applied || (row && isHeldBy(claim, row) && isAtLeast(row.leaseUntil, leaseUntil));
    if (!stands) return lost(row);
    renewData(claim);
    return { outcome: 'extended', cancelRequested: row?.cancelRequested === true };
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
          if (result.applied === 'failed') return { outcome: 'failed' as const, error: result.error };
          const { row } = result;
          const isMine = !result.applied && row !== undefined && isHeldBy(claim, row);
          // Still mine, so a cancellation was asked for: the beat that can tell so is sent by itself.
          if (isMine && !isAtLeast(row.leaseUntil, leaseUntil))
            return heartbeat(claim, leaseUntil).catch((error: Error) => ({
              outcome: 'failed' as const,
              error,
            }));
          return beaten(claim, leaseUntil, result);
        }),
      );
    },

    retry: async (claim, next) =>
      fenced(retryWrite(claim, { ...next, lastError: await storedError(claim, next.lastError) }, context())),

    async fail(claim, end) {
      const lastError = await storedError(claim, end.lastError);
      const at = context();
      return fenced(failWrite(claim, { ...end, lastError, expiresAt: expiresAt(at.now) }, at));
    },

    async release(claim, next) {
      const lastError = next.lastError && (await storedError(claim, next.lastError));
      return fenced(releaseWrite(claim, { ...next, lastError }, context()));
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

    cancelRunning(claim) {
      const at = context();
      return fenced(cancelRunningWrite(claim, expiresAt(at.now), at));
    },

    cancelPending(observed) {
      const at = context();
      return fenced(cancelPendingWrite(observed, expiresAt(at.now), at));
    },
  };
}

function completions({
  table,
  data,
  settings,
  context,
  expiresAt,
  fenced,
}: StoreParts): Pick<JobStore, 'complete' | 'completeMany'> {
  const storedResult = async (
    claim: Claim,
    result: JsonValue | undefined,
  ): Promise<StoredText | undefined> => {
    if (result === undefined) return undefined;
    const text = toJsonText('result', result, settings.maxResultBytes);
    if (new ClaimState(claim).hasRoomFor('result', text)) return text;
    return data.put({ jobId: claim.jobId, name: 'result', text, attempt: claim.attempt });
  };
  const writeFor = async (claim: Claim, result: JsonValue | undefined) => {
    const stored = await storedResult(claim, result);
    const at = context();
    return completeWrite(claim, { expiresAt: expiresAt(at.now), result: stored }, at);
  };
  const isDoneBy =
    (claim: Claim): Proof =>
    (row) =>
      row.status === 'done' && isOf(claim, row);
  return {
    complete: async (claim, result) => fenced(await writeFor(claim, result), isDoneBy(claim)),

    async completeMany(ends) {
      const writes: (RowWrite | Error)[] = [];
      await inParallel([...ends.entries()], WITH_DATA_AT_ONCE, async ([i, { claim, result }]) => {
        writes[i] = await writeFor(claim, result).catch((error: Error) => error);
      });
      const ready = writes.filter((write): write is RowWrite => !(write instanceof Error));
      const results = await table.applyMany(ready);
      let next = 0;
      return ends.map(({ claim }, i) => {
        const write = writes[i] as RowWrite | Error;
        if (write instanceof Error) return { outcome: 'failed' as const, error: write };
        const result = results[next++] as BatchResult;
        return result.applied === 'failed'
          ? { outcome: 'failed' as const, error: result.error }
          : fencedOutcome(write, result, isDoneBy(claim));
      });
    },
  };
}
