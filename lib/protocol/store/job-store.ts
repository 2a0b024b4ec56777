import type { Settings } from '../../settings/settings.ts';
import type { JsonValue } from '../../wire/message.ts';
import { decideClaim } from '../decisions/decide-claim.ts';
import { planTakeBack } from '../decisions/dispatch.ts';
import { type Claim, isFinished, type Job, type RunningJob } from '../job.ts';
import type {
  Chance,
  Clock,
  FencedOutcome,
  JobStore,
  OperatorOutcome,
  ReapOutcome,
  Table,
} from '../ports.ts';
import { cutToBytes, toJsonText } from '../rows/json-text.ts';
import { parseJob } from '../rows/parse-row.ts';
import { cancelWrite, rejectWrite, reviveWrite, takeBackWrite } from '../writes/operator-writes.ts';
import { reapWrite } from '../writes/reaper-writes.ts';
import type { BatchResult, Row, RowWrite, WriteResult } from '../writes/row-write.ts';
import {
  cancelPendingWrite,
  cancelRunningWrite,
  checkpointWrite,
  claimWrite,
  completeWrite,
  failWrite,
  heartbeatWrite,
  releaseUnknownWrite,
  releaseWrite,
  retryWrite,
  scheduleWrite,
  type WriteContext,
} from '../writes/worker-writes.ts';

export interface JobStoreOptions {
  readonly table: Table;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly settings: Settings;
  /** Who writes: a worker's or reaper's name, or an operator's. Part of every row's `changedBy`. */
  readonly actor: string;
}

/** Whether the row shows that a refused write had been applied before: its reply was lost, and the repeat was refused. */
type Proof = (row: Row, write: RowWrite) => boolean;

const changedByThisCall: Proof = (row, write) => row.changedBy === write.set.changedBy;

/** The protocol on top of a table. */
export function createJobStore(options: JobStoreOptions): JobStore {
  const { table, clock, chance, settings, actor } = options;
  const context = (): WriteContext => ({
    changedBy: `${actor}/${chance.unique()}`,
    now: clock.now(),
    shards: settings.shards,
  });
  const expiresAt = (now: number) => Math.ceil((now + settings.rowRetentionMs) / 1000);
  const error = (text: string) => cutToBytes(text, settings.maxErrorBytes);

  const fenced = async (write: RowWrite, proof: Proof = changedByThisCall): Promise<FencedOutcome> =>
    fencedOutcome(write, await table.apply(write), proof);

  const claimed = (result: WriteResult, owner: string) =>
    result.applied
      ? { outcome: 'claimed' as const, job: parseJob(result.row) as RunningJob }
      : decideClaim(result.row && parseJob(result.row), {
          owner,
          now: clock.now(),
          skewMs: settings.skewMs,
        });

  const completion = (claim: Claim, result: JsonValue | undefined) => {
    const at = context();
    const text = result === undefined ? undefined : toJsonText('result', result, settings.maxResultBytes);
    return completeWrite(
      claim,
      { expiresAt: expiresAt(at.now), ...(text === undefined ? {} : { result: text }) },
      at,
    );
  };
  const isDoneBy =
    (claim: Claim): Proof =>
    (row) =>
      row.status === 'done' && isOf(claim, row);

  return {
    async claim({ job, owner }) {
      const write = claimWrite({ job, owner, skewMs: settings.skewMs }, context());
      return claimed(await table.apply(write), owner);
    },

    async claimMany(requests) {
      const writes = requests.map(({ job, owner }) =>
        claimWrite({ job, owner, skewMs: settings.skewMs }, context()),
      );
      const results = await table.applyMany(writes);
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
      if (row?.status === 'pending' && (result.applied || row.changedBy === write.set.changedBy))
        return { outcome: 'written', job: row };
      return row === undefined ? { outcome: 'exists' } : { outcome: 'exists', job: row };
    },

    async heartbeat(claim, leaseUntil) {
      const write = heartbeatWrite(claim, leaseUntil, context());
      const result = await table.apply(write);
      if (result.applied)
        return { outcome: 'extended', cancelRequested: result.row.cancelRequested === true };
      const { row } = result;
      if (row && isHeldBy(claim, row) && typeof row.leaseUntil === 'number' && row.leaseUntil >= leaseUntil)
        return { outcome: 'extended', cancelRequested: row.cancelRequested === true };
      return lost(row);
    },

    async checkpoint(claim, { seq, checkpoint, progress }) {
      const write = checkpointWrite(
        claim,
        {
          seq,
          ...(checkpoint === undefined
            ? {}
            : { checkpoint: toJsonText('checkpoint', checkpoint, settings.maxCheckpointBytes) }),
          ...(progress === undefined
            ? {}
            : { progress: toJsonText('progress', progress, settings.maxCheckpointBytes) }),
        },
        context(),
      );
      return fenced(
        write,
        (row) => isHeldBy(claim, row) && typeof row.checkpointSeq === 'number' && row.checkpointSeq >= seq,
      );
    },

    complete: async (claim, result) => fenced(completion(claim, result), isDoneBy(claim)),

    async completeMany(ends) {
      const writes = ends.map(({ claim, result }) => completion(claim, result));
      const results = await table.applyMany(writes);
      return ends.map(({ claim }, i) => {
        const result = results[i] as BatchResult;
        return result.applied === 'failed'
          ? { outcome: 'failed' as const, error: result.error }
          : fencedOutcome(writes[i] as RowWrite, result, isDoneBy(claim));
      });
    },

    retry: (claim, next) =>
      fenced(retryWrite(claim, { ...next, lastError: error(next.lastError) }, context())),

    fail(claim, end) {
      const at = context();
      return fenced(
        failWrite(claim, { ...end, lastError: error(end.lastError), expiresAt: expiresAt(at.now) }, at),
      );
    },

    release: (claim, { lastError, ...next }) =>
      fenced(
        releaseWrite(
          claim,
          { ...next, ...(lastError === undefined ? {} : { lastError: error(lastError) }) },
          context(),
        ),
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

    reject(message) {
      const at = context();
      // Whoever wrote it: the same message is kept once.
      return fenced(
        rejectWrite({ ...message, reason: error(message.reason) }, expiresAt(at.now), at),
        () => true,
      );
    },

    async reap(entry, action) {
      const at = context();
      const write = reapWrite(entry, action, expiresAt(at.now), at);
      return reapOutcome(write, await table.apply(write));
    },

    async reapMany(verdicts) {
      const writes = verdicts.map(({ entry, action }) => {
        const at = context();
        return reapWrite(entry, action, expiresAt(at.now), at);
      });
      const results = await table.applyMany(writes);
      return results.map((result, i) => reapOutcome(writes[i] as RowWrite, result));
    },

    cancel: (jobId) =>
      operate(jobId, (job) => {
        const at = context();
        return job.status === 'pending' || job.status === 'running'
          ? cancelWrite(job, expiresAt(at.now), at)
          : undefined;
      }),

    revive: (jobId, dispatch) =>
      operate(jobId, (job) =>
        (job.status === 'failed' && job.rawMessage === undefined) || job.status === 'cancelled'
          ? reviveWrite(job, dispatch, context())
          : undefined,
      ),

    takeBack: (jobId) =>
      operate(jobId, (job) => {
        const at = context();
        return job.status === 'running'
          ? takeBackWrite(job, planTakeBack(job.startedAt, at.now, settings), at)
          : undefined;
      }),

    async read(jobId) {
      const row = await table.read(jobId);
      const job = row && parseJob(row);
      return job === undefined || hasExpired(job, clock.now()) ? undefined : job;
    },
  };

  /** Reads, then writes on the condition that nothing changed; a job that moves meanwhile is looked at once more. */
  async function operate(
    jobId: string,
    plan: (job: Job) => RowWrite | undefined,
    looksLeft = 3,
  ): Promise<OperatorOutcome> {
    const row = await table.read(jobId);
    const job = row && parseJob(row);
    if (job === undefined || hasExpired(job, clock.now())) return { outcome: 'absent' };
    const write = plan(job);
    if (write === undefined) return { outcome: 'refused', job };
    const result = await table.apply(write);
    if (result.row !== undefined && (result.applied || changedByThisCall(result.row, write)))
      return { outcome: 'written', job: parseJob(result.row) };
    return looksLeft > 1 ? operate(jobId, plan, looksLeft - 1) : { outcome: 'refused', job };
  }
}

/** The last claim of this row was this one. */
const isOf = (claim: Claim, row: Row): boolean =>
  row.leaseOwner === claim.owner && row.attempt === claim.attempt;

const isHeldBy = (claim: Claim, row: Row): boolean => row.status === 'running' && isOf(claim, row);

const hasExpired = (job: Job, now: number): boolean => isFinished(job) && job.expiresAt * 1000 <= now;

function fencedOutcome(write: RowWrite, result: WriteResult, proof: Proof): FencedOutcome {
  if (result.applied || (result.row !== undefined && proof(result.row, write))) return { outcome: 'written' };
  return lost(result.row);
}

/** The row that refused a write only explains the refusal: where it cannot be read, the refusal stands all the same. */
function lost(row: Row | undefined): { readonly outcome: 'lost'; readonly job?: Job } {
  try {
    return row === undefined ? { outcome: 'lost' } : { outcome: 'lost', job: parseJob(row) };
  } catch {
    return { outcome: 'lost' };
  }
}

function reapOutcome(write: RowWrite, result: BatchResult): ReapOutcome {
  if (result.applied === 'failed') return { outcome: 'failed', error: result.error };
  const written = result.applied || (result.row !== undefined && changedByThisCall(result.row, write));
  return { outcome: written ? 'written' : 'moved' };
}
