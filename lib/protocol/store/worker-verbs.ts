import type { JsonValue } from '../../wire/message.ts';
import type { Claim, RunningJob } from '../job.ts';
import type { JobStore } from '../ports.ts';
import { toJsonText } from '../rows/json-text.ts';
import { parseJob } from '../rows/parse-row.ts';
import type { BatchResult, Row, RowWrite } from '../writes/row-write.ts';
import {
  cancelPendingWrite,
  cancelRunningWrite,
  checkpointWrite,
  completeWrite,
  failWrite,
  heartbeatWrite,
  releaseUnknownWrite,
  releaseWrite,
  restartWrite,
  retryWrite,
} from '../writes/worker-writes.ts';
import { fencedOutcome, lost, type Proof, type StoreParts } from './store-parts.ts';

type WorkerVerb =
  | 'heartbeat'
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

/** What the holder of a claim may do with it. */
export function workerVerbs(parts: StoreParts): Pick<JobStore, WorkerVerb> {
  const { context, expiresAt, shortened, fenced } = parts;
  return {
    ...completions(parts),
    ...keeping(parts),

    retry: (claim, next) =>
      fenced(retryWrite(claim, { ...next, lastError: shortened(next.lastError) }, context())),

    fail(claim, end) {
      const at = context();
      const ended = { ...end, lastError: shortened(end.lastError), expiresAt: expiresAt(at.now) };
      return fenced(failWrite(claim, ended, at));
    },

    async restart(claim, next) {
      const write = restartWrite(claim, { ...next, lastError: shortened(next.lastError) }, context());
      const result = await parts.table.apply(write);
      const { row } = result;
      const isMine =
        row !== undefined && isHeldBy({ ...claim, owner: next.owner, attempt: claim.attempt + 1 }, row);
      if (row !== undefined && (result.applied || isMine))
        return { outcome: 'restarted', job: parseJob(row) as RunningJob };
      if (row !== undefined && isHeldBy(claim, row) && row.cancelRequested === true)
        return { outcome: 'cancelRequested' };
      return lost(row);
    },

    release: (claim, next) =>
      fenced(
        releaseWrite(claim, { ...next, lastError: next.lastError && shortened(next.lastError) }, context()),
      ),

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
  settings,
  context,
  expiresAt,
  fenced,
}: StoreParts): Pick<JobStore, 'complete' | 'completeMany'> {
  const writeFor = (claim: Claim, result: JsonValue | undefined) => {
    const at = context();
    const text = result === undefined ? undefined : toJsonText('result', result, settings.maxResultBytes);
    return completeWrite(claim, { expiresAt: expiresAt(at.now), result: text }, at);
  };
  const isDoneBy =
    (claim: Claim): Proof =>
    (row) =>
      row.status === 'done' && isOf(claim, row);
  return {
    complete: async (claim, result) => fenced(writeFor(claim, result), isDoneBy(claim)),

    async completeMany(ends) {
      const writes = ends.map(({ claim, result }) => writeFor(claim, result));
      const results = await table.applyMany(writes);
      return ends.map(({ claim }, i) => {
        const result = results[i] as BatchResult;
        return result.applied === 'failed'
          ? { outcome: 'failed' as const, error: result.error }
          : fencedOutcome(writes[i] as RowWrite, result, isDoneBy(claim));
      });
    },
  };
}

function keeping({
  table,
  settings,
  context,
  fenced,
}: StoreParts): Pick<JobStore, 'heartbeat' | 'checkpoint'> {
  const textOf = (what: string, value: JsonValue | undefined) =>
    value === undefined ? undefined : toJsonText(what, value, settings.maxCheckpointBytes);
  return {
    async heartbeat(claim, leaseUntil) {
      const result = await table.apply(heartbeatWrite(claim, leaseUntil, context()));
      const { row } = result;
      const stands = result.applied || (row && isHeldBy(claim, row) && isAtLeast(row.leaseUntil, leaseUntil));
      return stands ? { outcome: 'extended', cancelRequested: row?.cancelRequested === true } : lost(row);
    },

    async checkpoint(claim, { seq, checkpoint, progress }) {
      const kept = {
        seq,
        checkpoint: textOf('checkpoint', checkpoint),
        progress: textOf('progress', progress),
      };
      return fenced(
        checkpointWrite(claim, kept, context()),
        (row) => isHeldBy(claim, row) && isAtLeast(row.checkpointSeq, seq),
      );
    },
  };
}

/** The last claim of this row was this one. */
const isOf = (claim: Claim, row: Row): boolean =>
  row.leaseOwner === claim.owner && row.attempt === claim.attempt;

const isHeldBy = (claim: Claim, row: Row): boolean => row.status === 'running' && isOf(claim, row);

const isAtLeast = (value: unknown, least: number): boolean => typeof value === 'number' && value >= least;
