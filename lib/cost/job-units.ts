import { MAX_HINT_DELAY_MS, planDispatch } from '../protocol/decisions/dispatch.ts';
import { claimOf, LEASE_EXPIRED, leaseEntryOf } from '../protocol/job.ts';
import { parseJob } from '../protocol/rows/parse-row.ts';
import { rowAfter } from '../protocol/writes/evaluate.ts';
import { reapWrite } from '../protocol/writes/reaper-writes.ts';
import type { Row, RowWrite } from '../protocol/writes/row-write.ts';
import {
  checkpointWrite,
  claimWrite,
  completeWrite,
  failWrite,
  heartbeatWrite,
  retryWrite,
} from '../protocol/writes/worker-writes.ts';
import { defaultSettings } from '../settings/settings.ts';
import { rowBytes, type WriteUnits, writeUnits } from './write-units.ts';

/** What a typical job's rows carry, in bytes. */
export interface JobSize {
  readonly payloadBytes: number;
  readonly resultBytes: number;
  readonly checkpointBytes: number;
}

/** Write units of each step of such a job's life, and the size of its row when it is done. */
export interface JobUnits {
  readonly claim: WriteUnits;
  readonly claimAgain: WriteUnits;
  readonly heartbeat: WriteUnits;
  readonly checkpoint: WriteUnits;
  readonly complete: WriteUnits;
  readonly retry: WriteUnits;
  readonly reclaim: WriteUnits;
  readonly fail: WriteUnits;
  readonly doneRowBytes: number;
}

/** Any instant of today's length will do: only the number of its digits counts. */
const NOW = 1_800_000_000_123;
const SHARDS = 8;
const CONTEXT = { changedBy: 'worker-0123456789ab/0123456789ab', now: NOW, shards: SHARDS };
const OWNER = 'worker-0123456789ab/0123456789ab';
const JOB_ID = '01234567-89ab-cdef-0123-456789abcdef';
const ERROR = 'Error: connect ETIMEDOUT 10.0.0.1:443';

/** JSON text of this many bytes: a string with its quotes. */
const text = (bytes: number): string => `"${'x'.repeat(Math.max(0, bytes - 2))}"`;

/** Runs the protocol's own writes on a sample row, so that the model cannot drift from what is written. */
export function jobUnits(size: JobSize): JobUnits {
  const claimed = rowAfter(newClaim(size), undefined);
  const job = parseJob(claimed);
  if (job.status !== 'running') throw new Error('a claimed row is running');
  const claim = claimOf(job);
  const at = { ...CONTEXT, now: NOW + 1 };
  const dispatch = planDispatch(NOW, NOW + MAX_HINT_DELAY_MS, defaultSettings);
  const expiresAt = Math.ceil(NOW / 1000);
  const step = (before: Row, write: RowWrite) => {
    const after = rowAfter(write, before);
    return { after, units: writeUnits(before, after) };
  };
  const kept = step(claimed, checkpointWrite(claim, { seq: 1, checkpoint: text(size.checkpointBytes) }, at));
  const before = size.checkpointBytes > 0 ? kept.after : claimed;
  const done = step(before, completeWrite(claim, { expiresAt, result: text(size.resultBytes) }, at));
  const retried = step(before, retryWrite(claim, { errors: 1, lastError: ERROR, dispatch }, at));
  const lapse = {
    kind: 'reclaim' as const,
    chargedTo: 'crashes' as const,
    crashes: 1,
    releases: 0,
    lastError: LEASE_EXPIRED,
    dispatch,
  };
  const again = claimWrite({ job: { jobId: JOB_ID }, owner: `${OWNER}1`, skewMs: 0 }, at);
  return {
    claim: writeUnits(undefined, claimed),
    claimAgain: step(retried.after, again).units,
    heartbeat: step(before, heartbeatWrite(claim, job.leaseUntil + 1, at)).units,
    checkpoint: kept.units,
    complete: done.units,
    retry: retried.units,
    reclaim: step(before, reapWrite(leaseEntryOf(job), lapse, expiresAt, at)).units,
    fail: step(before, failWrite(claim, { errors: 1, lastError: ERROR, expiresAt }, at)).units,
    doneRowBytes: rowBytes(done.after),
  };
}

const newClaim = (size: JobSize): RowWrite =>
  claimWrite(
    {
      job: {
        jobId: JOB_ID,
        type: 'typical-job-type',
        payload: text(size.payloadBytes),
        leaseMs: defaultSettings.leaseMs,
        maxAttempts: defaultSettings.maxAttempts,
        maxCrashes: defaultSettings.maxCrashes,
      },
      owner: OWNER,
      skewMs: defaultSettings.skewMs,
    },
    CONTEXT,
  );
