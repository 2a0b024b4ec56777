import type { ClaimOutcome } from '../decisions/decide-claim.ts';
import { MissingDataError } from '../errors.ts';
import { claimOf, type FoundRow, type RunningJob } from '../job.ts';
import { type DataName, MAX_INLINE_ROW_BYTES, pointersOf } from '../rows/data-pointer.ts';
import { parseJob } from '../rows/parse-row.ts';
import { attributeBytes, rowBytes } from '../rows/row-bytes.ts';
import type { Row } from '../writes/row-write.ts';
import { failWrite } from '../writes/worker-writes.ts';
import type { StoreParts } from './store-parts.ts';
import { tidyRow } from './tidy-row.ts';

/** What a handler is given; without it the job cannot run. */
const NEEDED: readonly DataName[] = ['payload', 'checkpoint'];

/** The job of a claim that holds, with its data; what is gone fails it for good. */
export async function grantedClaim(
  parts: StoreParts,
  row: Row,
  known?: ReadonlyMap<string, string>,
): Promise<ClaimOutcome> {
  const bytes = rowBytes(row);
  // Nearly every row: small, with all that belongs to the job on it.
  if (bytes <= MAX_INLINE_ROW_BYTES && pointersOf(row).length === 0)
    return {
      outcome: 'claimed',
      job: { ...(parseJob(row) as RunningJob), found: foundOn(parts, row, row, bytes) },
    };
  const { row: whole, missing } = await parts.data.resolve(row, [...NEEDED, 'progress'], known);
  const job: RunningJob = { ...(parseJob(whole) as RunningJob), found: foundOn(parts, row, whole) };
  const gone = missing.filter((name) => NEEDED.includes(name));
  if (gone.length > 0) return failWithoutData(parts, job, gone);
  return {
    outcome: 'claimed',
    job: { ...job, found: foundOn(parts, await tidyRow(parts, job, row, whole), whole) },
  };
}

async function failWithoutData(
  { context, expiresAt, fenced }: StoreParts,
  job: RunningJob,
  gone: readonly DataName[],
): Promise<ClaimOutcome> {
  const at = context();
  const error = new MissingDataError(job.jobId, gone);
  const { outcome } = await fenced(
    failWrite(
      claimOf(job),
      { errors: job.errors, lastError: `MissingDataError: ${error.message}`, expiresAt: expiresAt(at.now) },
      at,
    ),
  );
  return outcome === 'written' ? { outcome: 'withoutData', job, error } : { outcome: 'held', job };
}

/** `row` as it is stored, `whole` with its data in place. */
const foundOn = ({ data }: StoreParts, row: Row, whole: Row, bytes = rowBytes(row)): FoundRow => {
  const checkpointBytes = attributeBytes('checkpoint', row.checkpoint);
  const progressBytes = attributeBytes('progress', row.progress);
  return {
    bytes: bytes - checkpointBytes - progressBytes,
    checkpoint: typeof whole.checkpoint === 'string' ? whole.checkpoint : undefined,
    checkpointBytes,
    progressBytes,
    crashes: Number(row.crashes),
    releases: Number(row.releases),
    excuses: Number(row.excuses ?? 0),
    expiresSoon: pointersOf(row).some(([, pointer]) => data.expiresSoon(pointer)),
  };
};
