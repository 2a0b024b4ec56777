import { planDispatch } from '../../protocol/decisions/dispatch.ts';
import { claimOf, LEASE_EXPIRED, leaseEntryOf } from '../../protocol/job.ts';
import {
  type DataName,
  dataKey,
  dataKinds,
  MAX_INLINE_ROW_BYTES,
  partsOf,
  type StoredText,
} from '../../protocol/rows/data-pointer.ts';
import { parseJob } from '../../protocol/rows/parse-row.ts';
import { attributeBytes, rowBytes } from '../../protocol/rows/row-bytes.ts';
import { rowAfter } from '../../protocol/writes/evaluate.ts';
import { reapWrite } from '../../protocol/writes/reaper-writes.ts';
import type { Row, RowWrite } from '../../protocol/writes/row-write.ts';
import {
  checkpointWrite,
  claimWrite,
  completeWrite,
  failWrite,
  heartbeatWrite,
  releaseWrite,
  retryWrite,
} from '../../protocol/writes/worker-writes.ts';
import { defaultSettings } from '../../settings/settings.ts';
import { MAX_HINT_DELAY_MS } from '../../wire/queues.ts';
import { type WriteUnits, writeUnits } from './write-units.ts';

export interface JobSize {
  readonly payloadBytes: number;
  readonly resultBytes: number;
  readonly checkpointBytes: number;
}

export interface JobUnits {
  readonly claim: WriteUnits;
  readonly claimAgain: WriteUnits;
  readonly heartbeat: WriteUnits;
  readonly checkpoint: WriteUnits;
  readonly complete: WriteUnits;
  readonly retry: WriteUnits;
  readonly release: WriteUnits;
  readonly reclaim: WriteUnits;
  readonly fail: WriteUnits;
  readonly doneRowBytes: number;
}

/** Only the number of digits matters. */
const NOW = 1_800_000_000_123;
const SHARDS = 8;
const CONTEXT = {
  changedBy: 'worker-0123456789ab/0123456789ab',
  now: NOW,
  shards: SHARDS,
  expiresAt: Math.ceil(NOW / 1000),
};
const OWNER = 'worker-0123456789ab/0123456789ab';
const JOB_ID = '01234567-89ab-cdef-0123-456789abcdef';
const ERROR = 'Error: connect ETIMEDOUT 10.0.0.1:443';

const text = (bytes: number): string => `"${'x'.repeat(Math.max(0, bytes - 2))}"`;

/** Stored as the store would: on the row if it fits, otherwise in a data row. */
function kept(
  name: DataName,
  value: string,
  others: number,
): { readonly value: StoredText; readonly units: number } {
  if (others + attributeBytes(name, value) <= MAX_INLINE_ROW_BYTES) return { value, units: 0 };
  const bytes = Buffer.byteLength(value);
  const parts = partsOf(value);
  const pointer = { in: `${dataKinds[name]}1.0123456789ab`, parts: parts.length, bytes };
  const units = parts.map((data, part) =>
    writeUnits(undefined, {
      jobId: dataKey(JOB_ID, pointer.in, part),
      data,
      expiresAt: Math.ceil(NOW / 1000),
    }),
  );
  return { value: pointer, units: units.reduce((sum, each) => sum + each.table, 0) };
}

const plus = ({ table, ...units }: WriteUnits, data: number): WriteUnits => ({
  ...units,
  table: table + data,
});

/** Runs the real protocol writes on a sample row, so the model cannot drift from them. */
export function jobUnits(size: JobSize): JobUnits {
  const bare = rowBytes(rowAfter(newClaim(''), undefined));
  const payload = kept('payload', text(size.payloadBytes), bare - attributeBytes('payload', ''));
  const claimed = rowAfter(newClaim(payload.value), undefined);
  const job = parseJob(claimed);
  if (job.status !== 'running') throw new Error('a claimed row is running');
  const claim = claimOf(job);
  const at = { ...CONTEXT, now: NOW + 1 };
  const dispatch = planDispatch(NOW, NOW + MAX_HINT_DELAY_MS, defaultSettings);
  const step = (before: Row, write: RowWrite) => {
    const after = rowAfter(write, before);
    return { after, units: writeUnits(before, after) };
  };
  const checkpoint = kept('checkpoint', text(size.checkpointBytes), rowBytes(claimed));
  const saved = step(claimed, checkpointWrite(claim, { seq: 1, checkpoint: checkpoint.value }, at));
  const before = size.checkpointBytes > 0 ? saved.after : claimed;
  const result = kept('result', text(size.resultBytes), rowBytes(before));
  const done = step(before, completeWrite(claim, result.value, at));
  const retried = step(before, retryWrite(claim, { errors: 1, lastError: ERROR, dispatch }, at));
  const lapse = {
    kind: 'reclaim' as const,
    lapses: 1,
    lastError: LEASE_EXPIRED,
    dispatch,
  };
  const again = claimWrite(
    { job: { jobId: JOB_ID }, owner: `${OWNER}1`, skewMs: 0, typeLimits: defaultSettings },
    at,
  );
  return {
    claim: plus(writeUnits(undefined, claimed), payload.units),
    claimAgain: step(retried.after, again).units,
    heartbeat: step(before, heartbeatWrite(claim, job.leaseUntil + 1, at)).units,
    checkpoint: plus(saved.units, checkpoint.units),
    complete: plus(done.units, result.units),
    retry: retried.units,
    release: step(before, releaseWrite(claim, { errors: 0, releases: 1, dispatch }, at)).units,
    reclaim: step(before, reapWrite(leaseEntryOf(job), lapse, at)).units,
    fail: step(before, failWrite(claim, { errors: 1, lastError: ERROR }, at)).units,
    doneRowBytes: rowBytes(done.after) + dataBytes([payload.value, checkpoint.value, result.value]),
  };
}

const dataBytes = (texts: readonly StoredText[]): number =>
  texts.reduce((sum, each) => sum + (typeof each === 'string' ? 0 : each.bytes), 0);

const newClaim = (payload: StoredText): RowWrite =>
  claimWrite(
    {
      job: { jobId: JOB_ID, type: 'typical-job-type', payload },
      typeLimits: defaultSettings,
      owner: OWNER,
      skewMs: defaultSettings.skewMs,
    },
    CONTEXT,
  );
