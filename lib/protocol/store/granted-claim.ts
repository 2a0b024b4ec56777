import type { ClaimOutcome } from '../decisions/decide-claim.ts';
import { MissingDataError } from '../errors.ts';
import { claimOf, type RowAtClaim, type RunningJob } from '../job.ts';
import { type DataName, pointersOf } from '../rows/data-pointer.ts';
import { parseJob } from '../rows/parse-row.ts';
import { attributeBytes, rowBytes } from '../rows/row-bytes.ts';
import type { Row } from '../writes/row-write.ts';
import { failWrite } from '../writes/worker-writes.ts';
import type { StoreParts } from './store-parts.ts';

const NEEDED: readonly DataName[] = ['payload', 'checkpoint'];

/** Fails the job for good if any of its data is gone. */
export async function grantedClaim(
  parts: StoreParts,
  row: Row,
  payloadCache?: ReadonlyMap<string, string>,
): Promise<ClaimOutcome> {
  const { data } = parts;
  const { row: whole, missing, expiring } = await data.resolve(row, [...NEEDED, 'progress'], payloadCache);
  const job: RunningJob = { ...(parseJob(whole) as RunningJob), rowAtClaim: rowAtClaimOf(row, whole) };
  const gone = missing.filter((name) => NEEDED.includes(name));
  if (gone.length > 0) return failWithoutData(parts, job, gone);
  if (expiring.length > 0) await data.extend(expiring);
  return { outcome: 'claimed', job };
}

async function failWithoutData(
  { context, fenced }: StoreParts,
  job: RunningJob,
  gone: readonly DataName[],
): Promise<ClaimOutcome> {
  const error = new MissingDataError(job.jobId, gone);
  const end = { errors: job.errors, lastError: `MissingDataError: ${error.message}` };
  const { outcome } = await fenced(failWrite(claimOf(job), end, context()));
  return outcome === 'written' ? { outcome: 'withoutData', job, error } : { outcome: 'held', job };
}

const rowAtClaimOf = (row: Row, whole: Row): RowAtClaim => {
  const checkpointBytes = attributeBytes('checkpoint', row.checkpoint);
  const progressBytes = attributeBytes('progress', row.progress);
  return {
    createdAt: Number(row.createdAt),
    bytes: rowBytes(row) - checkpointBytes - progressBytes,
    checkpoint: typeof whole.checkpoint === 'string' ? whole.checkpoint : undefined,
    checkpointBytes,
    progressBytes,
    pointsTo: Object.fromEntries(
      pointersOf(row, ['checkpoint', 'progress']).map(([name, pointer]) => [name, pointer.in]),
    ),
    crashes: Number(row.crashes),
    releases: Number(row.releases),
    lapses: Number(row.lapses),
  };
};
